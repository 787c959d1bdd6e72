// Attention to keys and values that go round a ring of ranks (Liu et al., arXiv 2310.01889). Private to the room.
#pragma once

#include <functional>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/parallel/split.h"

namespace attn::parallel {

/// One rank's part of an attention.
struct Ring {
  graph::Attention op;
  std::vector<graph::ValueId> inputs;  ///< the rank's queries, keys and values, then bias and masks of all columns
  Split rows, columns;                 ///< how queries, and how keys and values are shared out
  int rank = 0;
};

/// Makes what causality and a window hide into masks of a block: appends them to the inputs of the operation. Row t of
/// the rank is row t + rows.from(rank) of all, and column s column s + `first`.
void hide_by_position(graph::Builder& build, graph::Attention& op, const Split& rows, int rank, Dim columns, Dim first,
                      std::vector<graph::ValueId>& inputs);

/// Appends the nodes, and gives the context of the rank's queries. Every rank's part of the keys is attended to by
/// itself, and the results are joined by the logarithms of their sums.
[[nodiscard]] graph::ValueId ring_attention(graph::Builder& build, const Ring& ring);

}  // namespace attn::parallel
