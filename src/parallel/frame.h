// The initial graph of a rank: the name and the layers of the model's graph, without nodes or values.
#pragma once

#include "attn/graph/graph.h"

namespace attn::parallel {

/// Returns the graph of a rank before its first node. It has the model's layers, but no layer has outputs yet.
[[nodiscard]] inline graph::Graph frame_of(const graph::Graph& model) {
  graph::Graph frame;
  frame.name = model.name;
  frame.layers = model.layers;
  for (graph::Layer& layer : frame.layers) layer.outputs.clear();
  return frame;
}

}  // namespace attn::parallel
