// Reproducible data parallelism. A batch is cut into a fixed number of parts, which are distributed over ranks. A sum
// over rows is a sum over parts in a fixed order, so that any number of ranks computes the same bits.
#pragma once

#include "attn/graph/graph.h"
#include "attn/parallel/parallelize.h"

namespace attn::parallel {

/// The number of parts of a batch that has at least that many rows. It is also the maximum number of ranks.
inline constexpr int kParts = 8;

/// Returns the graph of rank `rank` of `ranks`, which computes some of `parts` parts. Between two collectives the graph
/// contains the nodes of data parallelism over `parts` ranks, once for each part of this rank. A sum over all parts is
/// a balanced tree. Each rank adds the subtrees that it has whole, and sends them to the others; then all add the rest.
/// There may be more ranks than parts. Throws Error (usage) as parallelize() does.
[[nodiscard]] Parallel share_parts(const graph::Graph& graph, int parts, int rank, int ranks);

}  // namespace attn::parallel
