#include <utility>

#include "attn/plan/passes.h"

namespace attn::plan {

using graph::Builder;
using graph::Conv;
using graph::Graph;
using graph::Node;
using graph::ValueId;

namespace {

/// Returns whether the windows tile the input exactly.
bool tiles(const Graph& graph, const Node& node, const Conv& op) {
  const Shape& x = graph.value(node.inputs[0]).shape;
  const Shape& kernel = graph.value(node.inputs[1]).shape;
  if (op.groups != 1 || !x.known()) return false;
  for (int axis = 0; axis < x.rank() - 2; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const Dim window = kernel[axis];
    if (op.strides[a] != window || (op.dilation[a] != 1 && window != 1) || x[axis + 1] % window != 0) return false;
  }
  return true;
}

/// Appends nodes that compute the Conv; the last one makes its result.
void rewrite(Builder& build, const Node& node, const Conv& op) {
  const Shape x = build.shape(node.inputs[0]), kernel = build.shape(node.inputs[1]);
  const int spatial = x.rank() - 2;
  // (B, n₁·w₁, …, C) → (B, n₁, …, w₁, …, C)
  Shape split{x[0]};
  std::vector<int> counts{0}, windows;
  for (int axis = 0; axis < spatial; ++axis) {
    counts.push_back(split.rank());
    split.push_back(x[axis + 1] / kernel[axis]);
    windows.push_back(split.rank());
    split.push_back(kernel[axis]);
  }
  std::vector<int> order = std::move(counts);
  order.insert(order.end(), windows.begin(), windows.end());
  order.push_back(split.rank());
  split.push_back(x.back());

  build.set_layer(node.layer);
  graph::Linear linear;
  linear.contracted = spatial + 1;
  linear.bias = op.bias;
  linear.activation = op.activation;
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = build.transpose(build.reshape(inputs[0], split), order);
  build.apply(linear, inputs);
}

}  // namespace

Graph simplify_conv(Graph graph) {
  const std::vector<Node> nodes = std::exchange(graph.nodes, {});
  Builder build(graph);
  for (const Node& node : nodes) {
    const auto* op = std::get_if<Conv>(&node.op);
    if (op == nullptr || !tiles(graph, node, *op)) {
      graph.nodes.push_back(node);
      continue;
    }
    rewrite(build, node, *op);
    // The result takes the id that readers use.
    graph.nodes.back().outputs = node.outputs;
    graph.values.pop_back();
  }
  return graph;
}

}  // namespace attn::plan
