// The outputs of a model's layers under names of their own, in the order in which they come about.
#pragma once

#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/run/session.h"

namespace attn::run {

/// One result of one call of a layer.
struct LayerArray {
  /// "block/dense"; from the second call or result on with both, counted from 0: "block/dense[1][0]".
  std::string name;
  std::string class_name;
  int call = 0;  ///< which application of the layer
  LayerOutput from;
};

/// Session::layer_outputs() in the order of execution, a layer before the model it is part of, and one that gives back
/// what it got after the one that made it. `graph` is as it was lowered.
[[nodiscard]] std::vector<LayerArray> layer_arrays(const graph::Graph& graph, const std::vector<LayerOutput>& outputs);

}  // namespace attn::run
