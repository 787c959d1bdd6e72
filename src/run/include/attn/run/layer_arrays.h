// The outputs of a model's layers with unique names, in execution order.
#pragma once

#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/run/session.h"

namespace attn::run {

/// A result of a layer call.
struct LayerArray {
  /// "block/dense"; from the second call or result on, followed by both indices, counted from 0: "block/dense[1][0]".
  std::string name;
  std::string class_name;
  int call = 0;  ///< index of the layer's call
  LayerOutput from;
};

/// Names Session::layer_outputs() in execution order. A layer precedes the model that contains it. A layer that returns
/// its input follows the layer that computed it. `graph` is the lowered graph.
[[nodiscard]] std::vector<LayerArray> layer_arrays(const graph::Graph& graph, const std::vector<LayerOutput>& outputs);

}  // namespace attn::run
