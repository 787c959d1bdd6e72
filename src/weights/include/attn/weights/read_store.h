// Reads a weight file of any format as a store.
#pragma once

#include <string>

#include "attn/io/bytes.h"
#include "attn/weights/store.h"

namespace attn::weights {

/// Reads .weights.h5, .h5, .keras, .safetensors or .npz (detected by content; "-" is stdin), or the .weights.json of
/// sharded weights: several .h5 files in the same folder, or .safetensors of other libraries. Throws Error (bad_input)
/// for other files and damaged ones; for Python pickles (.pt, .bin) the message explains how to convert them.
[[nodiscard]] Store read_store(const std::string& path);
/// Reads the bytes of a weight file in memory, as read_store() does; `path` is the file's name, and gives the folder of
/// shards. Throws Error (bad_input) for other files and damaged ones.
[[nodiscard]] Store parse_store(const io::Bytes& file, const std::string& path);

}  // namespace attn::weights
