// Reproducible data parallelism. A batch is cut into a fixed number of parts, which are distributed over ranks. Sums
// over rows are sums over parts in one fixed order, so that any number of ranks computes the same bits.
#pragma once

#include "attn/graph/graph.h"
#include "attn/parallel/parallelize.h"

namespace attn::parallel {

/// The number of parts of a batch, if it has that many rows. No more ranks than this can share it.
inline constexpr int kParts = 8;

/// Rank `rank` of `ranks` computes some of `parts` parts. Between two collectives it runs the graph that a rank of
/// `parts` ranks would run, once for each of its parts. A sum over all parts is a balanced tree: each rank adds the
/// subtrees that it has whole, sends them to the others, and all add the rest. There may be more ranks than parts.
/// Throws Error (usage) as parallelize() does.
[[nodiscard]] Parallel share_parts(const graph::Graph& graph, int parts, int rank, int ranks);

}  // namespace attn::parallel
