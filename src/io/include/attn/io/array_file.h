// What goes into a model from a file: numbers and strings.
#pragma once

#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/base/text_array.h"

namespace attn::io {

/// A file's arrays, each by its name.
struct Arrays {
  std::vector<NamedTensor> tensors;
  std::vector<NamedTexts> texts;  ///< a name may be "": the file tells none
};

/// At most so many strings are read from a file.
inline constexpr std::int64_t kMostTexts = std::int64_t{1} << 24;

/// Reads .txt (a string in each line), .json (strings, in lists of one length, or an object of such), .npz and .npy
/// whose arrays may be of strings (NumPy's U and S), and what read_tensors reads. Throws Error (bad_input).
[[nodiscard]] Arrays read_arrays(const std::string& path);

}  // namespace attn::io
