// Input arrays from files: numbers and strings.
#pragma once

#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/base/text_array.h"

namespace attn::io {

/// A file's arrays with their names.
struct Arrays {
  std::vector<NamedTensor> tensors;
  std::vector<NamedTexts> texts;  ///< a name is "" if the file has no name for the array
};

/// The maximum number of strings that are read from a file.
inline constexpr std::int64_t kMostTexts = std::int64_t{1} << 24;

/// Reads arrays of numbers and strings. Strings come from .txt (one per line), .json (nested lists of equal lengths, or
/// an object of these), .npz and .npy (NumPy's U and S). Other files are read by read_tensors. Throws Error
/// (bad_input).
[[nodiscard]] Arrays read_arrays(const std::string& path);

}  // namespace attn::io
