// What a rank's graph begins with: the name and the layers of the model's, without nodes or values.
#pragma once

#include "attn/graph/graph.h"

namespace attn::parallel {

/// The graph of a rank before its first node: layers are the model's, of which none has outputs yet.
[[nodiscard]] inline graph::Graph frame_of(const graph::Graph& model) {
  graph::Graph frame;
  frame.name = model.name;
  frame.layers = model.layers;
  for (graph::Layer& layer : frame.layers) layer.outputs.clear();
  return frame;
}

}  // namespace attn::parallel
