// Graphs run node by node by the reference's loops.
#pragma once

#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::test {

/// What the values are for these inputs, in the order of graph.inputs.
[[nodiscard]] std::vector<Tensor> evaluate(const graph::Graph& graph, const std::vector<Tensor>& inputs,
                                           const std::vector<graph::ValueId>& values);

}  // namespace attn::test
