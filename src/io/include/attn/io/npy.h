// NumPy's .npy: one array.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attn/base/tensor.h"
#include "attn/base/text_array.h"
#include "attn/io/atomic_file.h"
#include "attn/io/bytes.h"

namespace attn::io {

/// Returns the array in a .npy file of version 1 to 3, over the same bytes if their order allows. `name` is the file's
/// name for messages. Throws Error (bad_input) unless the file is exactly one plain array of numbers or bools.
[[nodiscard]] Tensor parse_npy(const Bytes& file, std::string_view name);

/// Returns the strings of such a file (NumPy's U, in UTF-8, and S); nothing for numbers. Throws Error (bad_input).
[[nodiscard]] std::optional<TextArray> parse_text_npy(const Bytes& file, std::string_view name);

/// Returns the bytes of a .npy file before the elements, a multiple of 64. NumPy has no bfloat16: it is not allowed.
[[nodiscard]] std::string npy_header(DType dtype, const Shape& shape);

/// Returns the tensor in a dtype that .npy supports: bfloat16 becomes float32, which is exact; others are kept.
[[nodiscard]] Tensor as_npy(const Tensor& tensor);

/// Writes a version 1 file, with bfloat16 as float32.
void write_npy(AtomicFile& file, const Tensor& tensor);

/// Returns the bytes of such a file of strings, NumPy's U. Throws Error (bad_input) if one is not UTF-8.
[[nodiscard]] std::string text_npy(const TextArray& texts, std::string_view name);

}  // namespace attn::io
