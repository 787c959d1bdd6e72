// The weights of a Hugging Face folder, in one file or in shards.
#pragma once

#include <cstdint>
#include <span>

#include "attn/base/tensor.h"
#include "attn/io/atomic_folder.h"

namespace attn::io {

/// Writes model.safetensors; if the tensors exceed `most` bytes in total, writes
/// model-00001-of-00002.safetensors and so on, with model.safetensors.index.json that maps tensors to files. A
/// file is filled in the order of the tensors until the next would not fit; a tensor of more than `most` bytes
/// has its own file. Throws Error.
void write_torch_shards(AtomicFolder& folder, std::span<const NamedTensor> tensors, std::int64_t most);

}  // namespace attn::io
