// Weights that Keras has split over several files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn::weights {

/// The names of the files that a .weights.json names, each once; they are in the folder of `path`, which is the index's
/// own. Throws Error (bad_input) for what is no such index, and for names that leave the folder.
[[nodiscard]] std::vector<std::string> shard_names(std::string_view index, const std::string& path);

}  // namespace attn::weights
