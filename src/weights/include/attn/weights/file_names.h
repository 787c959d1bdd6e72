// Names of weights in files that accept any names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/graph/weight.h"

namespace attn::weights {

/// Returns the names of weights in such files: their paths; for weights that share a path, their store_path.
[[nodiscard]] std::vector<std::string> file_names(std::span<const graph::WeightSpec> specs);

}  // namespace attn::weights
