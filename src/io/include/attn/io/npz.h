// NumPy's .npz: named arrays in a zip archive.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/base/text_array.h"
#include "attn/io/atomic_file.h"
#include "attn/io/bytes.h"

namespace attn::io {

/// Returns the arrays in the archive's order, named without their ".npy". Throws Error (bad_input) for what ZipReader
/// or parse_npy rejects, and for members that are not arrays. `name` is the file's name for messages.
[[nodiscard]] std::vector<NamedTensor> parse_npz(const Bytes& file, std::string_view name);

/// Writes uncompressed arrays, with bfloat16 as float32, and strings as NumPy's U. Throws Error (bad_input) if two
/// names are equal or a name is not valid for a member.
void write_npz(AtomicFile& file, std::span<const NamedTensor> tensors, std::span<const NamedTexts> texts = {});

}  // namespace attn::io
