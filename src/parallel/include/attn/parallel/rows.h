// Groups of ranks: each has rows of the batch, over which its ranks share the model.
#pragma once

#include <vector>

#include "attn/base/shape.h"
#include "attn/graph/graph.h"
#include "attn/parallel/parallelize.h"

namespace attn::parallel {

struct RowsOfGroup {
  /// As of one rank that shares by data, but that its outputs have the group's rows alone.
  Parallel part;
  /// By output, and by scores, of the graph: how many rows each group has. Empty where every group has all of it.
  std::vector<std::vector<Dim>> outputs, scores;
};

/// Throws Error (usage) where there are fewer rows than groups, and where a row's result depends on others.
[[nodiscard]] RowsOfGroup rows_of_group(const graph::Graph& graph, int group, int groups);

}  // namespace attn::parallel
