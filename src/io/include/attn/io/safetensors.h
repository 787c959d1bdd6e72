// Hugging Face's .safetensors: named arrays behind a JSON header.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/io/atomic_file.h"
#include "attn/io/bytes.h"

namespace attn::io {

/// The tensors in the header's order, over the same bytes where these are aligned. Throws Error (bad_input) for what
/// the safetensors library refuses (holes, overlaps, bytes after the end, sizes that do not fit) and for repeated or
/// unknown keys. `name` is the file's name for messages.
[[nodiscard]] std::vector<NamedTensor> parse_safetensors(const Bytes& file, std::string_view name);

/// Writes the tensors with the widest elements first, so that all are aligned, and by name among equals. Throws Error
/// (bad_input) where two names are the same or a name is not UTF-8.
void write_safetensors(AtomicFile& file, std::span<const NamedTensor> tensors);
/// The same, where the file says that PyTorch names its arrays so, which transformers asks for.
void write_torch_safetensors(AtomicFile& file, std::span<const NamedTensor> tensors);

}  // namespace attn::io
