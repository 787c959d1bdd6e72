// Keras's names for the outputs of a model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::run {

/// The names in model.output_names for outputs that the lowered graph numbers: "output_0" is "dense", the layer that
/// computes it. A layer with several outputs has "dense", "dense[1]", …. Empty if the model's outputs are a dict.
using OutputNames = std::map<std::string, std::string>;
[[nodiscard]] OutputNames output_names(const graph::Graph& lowered);

/// Gives arrays these names; an array whose name is not in the map keeps its own.
template <typename Array>
void rename_outputs(std::vector<Array>& arrays, const OutputNames& names) {
  for (Array& array : arrays)
    if (const auto found = names.find(array.name); found != names.end()) array.name = found->second;
}

}  // namespace attn::run
