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

/// The maximum rank of an array. No weight and no input has more axes.
inline constexpr int kMaxRank = 8;

/// Returns the size of an array in bytes; empty if the product exceeds kMaxSize, even if a dimension is 0.
[[nodiscard]] std::optional<std::int64_t> byte_count(DType dtype, const std::vector<Dim>& dims);

/// Returns a tensor over byte_count little-endian row-major bytes, which are shared if they are aligned for the dtype,
/// and copied otherwise. Throws Error (bad_input) for a bool that is neither 0 nor 1.
[[nodiscard]] Tensor tensor_over(DType dtype, std::vector<Dim> dims, const Bytes& bytes, const std::string& place);

}  // namespace attn::io
