// Tensors over the bytes of a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"
#include "attn/base/tensor.h"
#include "attn/io/bytes.h"

namespace attn::io {

/// No weight and no input has more dimensions.
inline constexpr int kMaxRank = 8;

/// The bytes that an array takes; nothing where the product passes kMaxSize, even if a dimension is 0.
[[nodiscard]] std::optional<std::int64_t> byte_count(DType dtype, const std::vector<Dim>& dims);

/// A tensor over little-endian row-major bytes, of which there must be byte_count. They are shared where they are
/// aligned for the dtype, and copied where not. Throws Error (bad_input) for a bool that is neither 0 nor 1.
[[nodiscard]] Tensor tensor_over(DType dtype, std::vector<Dim> dims, const Bytes& bytes, const std::string& place);

}  // namespace attn::io
