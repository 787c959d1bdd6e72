// What weights are called in files that take any names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/graph/weight.h"

namespace attn::weights {

/// What files call the weights that they name themselves: each by its path; weights that share a path by their
/// store_path.
[[nodiscard]] std::vector<std::string> file_names(std::span<const graph::WeightSpec> specs);

}  // namespace attn::weights
