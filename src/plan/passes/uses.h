// Producers and readers of each value of a graph. Private to the module.
#pragma once

#include <vector>

#include "attn/graph/graph.h"

namespace attn::plan {

struct Uses {
  explicit Uses(const graph::Graph& graph);

  std::vector<graph::NodeId> producer;  ///< for each value; kNone for inputs, weights and constants
  std::vector<graph::NodeId> reader;    ///< for each value: the last node that reads it, or kNone
  std::vector<int> count;               ///< for each value: how often nodes, outputs and scores read it
};

/// Drops the nodes marked in `removed`, and from the layers' outputs the values without a producer.
void drop_nodes(graph::Graph& graph, const std::vector<bool>& removed);

}  // namespace attn::plan
