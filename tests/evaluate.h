// Runs graphs node by node with the reference backend's loops.
#pragma once

#include <vector>

#include "attn/backends/reference.h"
#include "attn/base/tensor.h"
#include "attn/graph/graph.h"

namespace attn::test {

/// Returns all values for these inputs, in the order of graph.inputs.
[[nodiscard]] inline std::vector<Tensor> evaluate(const graph::Graph& graph, const std::vector<Tensor>& inputs,
                                                  const std::vector<graph::ValueId>& values) {
  std::vector<Tensor> all(graph.values.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = graph.values[i].constant;
  for (std::size_t i = 0; i < inputs.size(); ++i) all[graph::at(graph.inputs[i])] = inputs[i];
  for (const graph::Node& node : graph.nodes) {
    std::vector<Tensor> in, out;
    for (const graph::ValueId id : node.inputs) in.push_back(all[graph::at(id)]);
    for (const graph::ValueId id : node.outputs) out.emplace_back(graph.value(id).dtype, graph.value(id).shape);
    backends::evaluate(node, graph, in, out);
    for (std::size_t i = 0; i < out.size(); ++i) all[graph::at(node.outputs[i])] = out[i];
  }
  std::vector<Tensor> results;
  for (const graph::ValueId id : values) results.push_back(all[graph::at(id)]);
  return results;
}

}  // namespace attn::test
