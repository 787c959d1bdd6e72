// Ring attention (Liu et al., arXiv 2310.01889): keys and values circulate among ranks. Private to the module.
#pragma once

#include <functional>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/parallel/split.h"

namespace attn::parallel {

/// A rank's part of an attention operation.
struct Ring {
  graph::Attention op;
  std::vector<graph::ValueId> inputs;  ///< the rank's queries, keys and values, then bias and masks for all keys
  Split rows, columns;                 ///< shards of the queries, and of the keys and values
  int rank = 0;
};

/// Converts causality and a window into masks of a block of keys, and appends them to `inputs`. Row t of the rank is
/// global row t + rows.from(rank), and column s is global column s + `first`.
void hide_by_position(graph::Builder& build, graph::Attention& op, const Split& rows, int rank, Dim columns, Dim first,
                      std::vector<graph::ValueId>& inputs);

/// Appends the nodes and returns the context of the rank's queries. Attention runs separately over every rank's shard
/// of the keys. The results are combined by their log-sum-exp.
[[nodiscard]] graph::ValueId ring_attention(graph::Builder& build, const Ring& ring);

}  // namespace attn::parallel
