// Queries that a mask lets see no key: those of padding. Keras's fused attention gives them the mean of all values.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::run {

/// The masks of the attention that makes the graph's scores, each once.
[[nodiscard]] std::vector<graph::ValueId> masks_of_scores(const graph::Graph& graph);

/// By query of the scores, whether it sees no key in one item of the batch; empty where nothing is masked. `value_of`
/// gives the tensors of masks_of_scores.
[[nodiscard]] std::vector<bool> hidden_queries(const graph::Graph& graph, graph::ValueId scores, std::int64_t item,
                                               const std::function<Tensor(graph::ValueId)>& value_of);

}  // namespace attn::run
