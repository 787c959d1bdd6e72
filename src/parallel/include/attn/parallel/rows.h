// Groups of ranks. Each group computes some rows of the batch, and the ranks of a group shard the model.
#pragma once

#include <vector>

#include "attn/base/shape.h"
#include "attn/graph/graph.h"
#include "attn/parallel/parallelize.h"

namespace attn::parallel {

struct GroupRows {
  /// The graph of a data-parallel rank, except that its outputs hold only the group's rows.
  Parallel part;
  /// The rows of each group, for each output and for each array of scores. Empty if every group has all rows.
  std::vector<std::vector<Dim>> outputs, scores;
};

/// Returns the graph of a group's rows. Throws Error (usage) if there are fewer rows than groups, or if a row's result
/// depends on other rows.
[[nodiscard]] GroupRows rows_of_group(const graph::Graph& graph, int group, int groups);

}  // namespace attn::parallel
