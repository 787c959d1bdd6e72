// Hugging Face's .safetensors: named arrays after a JSON header.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/io/atomic_file.h"
#include "attn/io/bytes.h"

namespace attn::io {

/// Returns the tensors in the header's order, over the same bytes if these are aligned. Throws Error (bad_input) for
/// files that the safetensors library rejects (holes, overlaps, trailing bytes, wrong sizes) and for repeated or
/// unknown keys. `name` is the file's name for messages.
[[nodiscard]] std::vector<NamedTensor> parse_safetensors(const Bytes& file, std::string_view name);

/// Writes the tensors with the widest elements first, so that all are aligned, and by name among equals. Throws Error
/// (bad_input) if two names are equal or a name is not UTF-8.
void write_safetensors(AtomicFile& file, std::span<const NamedTensor> tensors);
/// Writes the tensors as write_safetensors() does, with the metadata {"format": "pt"} that transformers requires.
void write_torch_safetensors(AtomicFile& file, std::span<const NamedTensor> tensors);

}  // namespace attn::io
