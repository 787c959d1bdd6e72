// Groups of ranks. Each group computes some rows of the batch, and the ranks of a group shard the model.
#pragma once

#include <vector>

#include "attn/base/shape.h"
#include "attn/graph/graph.h"
#include "attn/parallel/parallelize.h"

namespace attn::parallel {

struct RowsOfGroup {
  /// The graph of one data-parallel rank, except that its outputs hold only the group's rows.
  Parallel part;
  /// For each output, and for each array of scores: the rows of each group. Empty if every group has all of it.
  std::vector<std::vector<Dim>> outputs, scores;
};

/// Throws Error (usage) if there are fewer rows than groups, or if a row's result depends on other rows.
[[nodiscard]] RowsOfGroup rows_of_group(const graph::Graph& graph, int group, int groups);

}  // namespace attn::parallel
