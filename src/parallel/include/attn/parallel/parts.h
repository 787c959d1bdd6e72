// The rows of a batch in a fixed number of parts, which ranks share out: sums over rows are those of the parts, added
// up in one order, so that every number of ranks comes to the same bits.
#pragma once

#include "attn/graph/graph.h"
#include "attn/parallel/parallelize.h"

namespace attn::parallel {

/// Into so many parts a batch goes that has as many rows: no more ranks than these can share it.
inline constexpr int kParts = 8;

/// Rank `rank` of `ranks` computes some of `parts` parts, each by the graph that a rank of as many would have, one
/// behind the other between two meetings. A sum over all parts is a balanced tree over them: each rank adds up the
/// subtrees that it has whole, gives them to the others, and all add up the rest. There may be more ranks than parts.
/// Throws Error (usage) as parallelize() does.
[[nodiscard]] Parallel share_parts(const graph::Graph& graph, int parts, int rank, int ranks);

}  // namespace attn::parallel
