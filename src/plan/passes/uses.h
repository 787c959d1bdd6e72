// Who makes and who reads each value of a graph. Private to the room.
#pragma once

#include <vector>

#include "attn/graph/graph.h"

namespace attn::plan {

struct Uses {
  explicit Uses(const graph::Graph& graph);

  std::vector<graph::NodeId> producer;  ///< by value; kNone for inputs, weights and constants
  std::vector<graph::NodeId> reader;    ///< by value; the last node that reads it, or kNone
  std::vector<int> count;               ///< by value; how often nodes, outputs and scores read it
};

/// Drops the nodes marked in `removed` (by node), and from the layers' outputs the values that nothing makes any more.
void drop_nodes(graph::Graph& graph, const std::vector<bool>& removed);

}  // namespace attn::plan
