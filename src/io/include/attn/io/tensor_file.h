// Files of named arrays in any format.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/base/text_array.h"
#include "attn/io/bytes.h"

namespace attn::io {

/// Reads the arrays of a .npy, .npz or .safetensors file ("-" is stdin), detected by its first bytes. The array of a
/// .npy file is named as the file without folder and extension. Throws Error (bad_input) for any other file.
[[nodiscard]] std::vector<NamedTensor> read_tensors(const std::string& path);
/// Reads the arrays of a .npy, .npz or .safetensors file in memory; `path` is the file's name. Throws Error (bad_input)
/// for any other file.
[[nodiscard]] std::vector<NamedTensor> parse_tensors(const Bytes& file, const std::string& path);

/// Throws Error (usage) if write_tensors does not support the extension, so that a command can fail early.
void check_tensor_path(const std::string& path);

/// Writes .npy, .npz or .safetensors by the path's extension, .npz to stdout ("-"), atomically. A .npy file takes
/// exactly one array, a .safetensors file no strings. Throws Error (usage) for another extension or count, and
/// (bad_input) if the file cannot be written.
void write_tensors(const std::string& path, std::span<const NamedTensor> tensors,
                   std::span<const NamedTexts> texts = {});

}  // namespace attn::io
