#include "attn/plan/passes.h"
#include "passes/uses.h"

namespace attn::plan {

using graph::Graph;
using graph::Node;
using graph::Unary;
using graph::UnaryFn;

namespace {

// Returns the activation of a node that can still take one: the residual of a dense map is added after its activation.
Unary* open_activation(Node& node) {
  Unary* activation = nullptr;
  if (auto* linear = std::get_if<graph::Linear>(&node.op); linear != nullptr && !linear->residual) {
    activation = &linear->activation;
  } else if (auto* quantized = std::get_if<graph::QuantizedLinear>(&node.op); quantized && !quantized->residual) {
    activation = &quantized->activation;
  } else if (auto* conv = std::get_if<graph::Conv>(&node.op)) {
    activation = &conv->activation;
  }
  return activation != nullptr && activation->fn == UnaryFn::linear ? activation : nullptr;
}

}  // namespace

Graph fuse_activation(Graph graph, const std::function<bool(const Unary&)>& can_fuse) {
  const Uses uses(graph);
  std::vector<bool> removed(graph.nodes.size(), false);
  for (Node& node : graph.nodes) {
    Unary* activation = open_activation(node);
    if (activation == nullptr) continue;
    const auto between = static_cast<std::size_t>(node.outputs[0]);
    const graph::NodeId reader = uses.reader[between];
    if (uses.count[between] != 1 || reader == graph::kNone) continue;
    const Node& next = graph.nodes[static_cast<std::size_t>(reader)];
    const auto* unary = std::get_if<Unary>(&next.op);
    if (unary == nullptr || graph.value(next.outputs[0]).dtype != graph.values[between].dtype || !can_fuse(*unary)) {
      continue;
    }
    *activation = *unary;
    node.outputs = next.outputs;
    removed[static_cast<std::size_t>(reader)] = true;
  }
  drop_nodes(graph, removed);
  return graph;
}

}  // namespace attn::plan
