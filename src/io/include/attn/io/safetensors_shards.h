// The weights of a Hugging Face folder, in one file or in several.
#pragma once

#include <cstdint>
#include <span>

#include "attn/base/tensor.h"
#include "attn/io/atomic_folder.h"

namespace attn::io {

/// Writes model.safetensors, or, where the tensors have more than `most` bytes together,
/// model-00001-of-00002.safetensors and so on with model.safetensors.index.json, which says where each tensor lies. A
/// file is filled in the order of the tensors until the next would not fit; a tensor of more than `most` bytes has a
/// file of its own. Throws Error.
void write_torch_shards(AtomicFolder& folder, std::span<const NamedTensor> tensors, std::int64_t most);

}  // namespace attn::io
