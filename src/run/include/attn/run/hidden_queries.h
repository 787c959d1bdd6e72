// Queries for which the mask hides every key, as for padding. Keras's fused attention returns the mean of all values
// for them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::run {

/// Returns the masks of the attention layers whose scores the graph outputs, without duplicates.
[[nodiscard]] std::vector<graph::ValueId> masks_of_scores(const graph::Graph& graph);

/// Returns for each query of the scores whether every key is hidden from it in one batch item; empty if no key is
/// masked. `value_of` returns the tensors of masks_of_scores.
[[nodiscard]] std::vector<bool> hidden_queries(const graph::Graph& graph, graph::ValueId scores, std::int64_t item,
                                               const std::function<Tensor(graph::ValueId)>& value_of);

}  // namespace attn::run
