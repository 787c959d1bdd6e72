// The origin of each value of a graph.
#pragma once

#include <vector>

#include "attn/graph/graph.h"

namespace attn::run {

class Producers {
 public:
  /// The graph must outlive this.
  explicit Producers(const graph::Graph& graph) : graph_(graph), producer_(graph.values.size(), graph::kNone) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (const graph::ValueId output : graph.nodes[i].outputs)
        producer_[static_cast<std::size_t>(output)] = static_cast<graph::NodeId>(i);
  }

  /// Returns the node that computes a value; graph::kNone for inputs, weights and constants.
  [[nodiscard]] graph::NodeId producer(graph::ValueId value) const {
    return producer_[static_cast<std::size_t>(value)];
  }

  /// Returns whether a node of this layer, or of a layer inside it, computes the value.
  [[nodiscard]] bool is_made_in(graph::ValueId value, graph::LayerId layer) const {
    if (producer(value) == graph::kNone) return false;
    graph::LayerId made_in = graph_.nodes[static_cast<std::size_t>(producer(value))].layer;
    while (made_in != graph::kNone && made_in != layer)
      made_in = graph_.layers[static_cast<std::size_t>(made_in)].parent;
    return made_in == layer;
  }

 private:
  const graph::Graph& graph_;
  std::vector<graph::NodeId> producer_;  // for each value, the node that computes it
};

}  // namespace attn::run
