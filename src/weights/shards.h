// Weights that Keras has sharded over several files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn::weights {

/// Returns the file names in a .weights.json, without duplicates; they are in the folder of `path`, the index itself.
/// Throws Error (bad_input) for an invalid index, and for names outside the folder.
[[nodiscard]] std::vector<std::string> shard_names(std::string_view index, const std::string& path);

}  // namespace attn::weights
