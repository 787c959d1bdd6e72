#include "unfuse.h"

#include <utility>

namespace attn::gradients {

using graph::at;
using graph::Graph;
using graph::Node;
using graph::Value;
using graph::ValueId;

namespace {

ValueId value_like(Graph& graph, ValueId like) {
  Value value{graph::ValueKind::computed, graph.value(like).dtype, graph.value(like).shape, "", graph::kNone, {}};
  graph.values.push_back(std::move(value));
  return static_cast<ValueId>(graph.values.size() - 1);
}

/// Appends the node without its activation, and the activation as a node of its own.
void split(Graph& graph, std::vector<Node>& nodes, Node node, const graph::Unary& op) {
  const ValueId out = node.outputs[0], before = value_like(graph, out);
  const graph::LayerId layer = node.layer;
  node.outputs = {before};
  ValueId residual = graph::kNone;
  if (auto* linear = std::get_if<graph::Linear>(&node.op); linear != nullptr && linear->residual) {
    linear->residual = false;
    residual = node.inputs.back();
    node.inputs.pop_back();
  }
  nodes.push_back(std::move(node));
  if (residual == graph::kNone) {
    nodes.push_back({op, {before}, {out}, layer});
    return;
  }
  const ValueId activated = value_like(graph, out);
  nodes.push_back({op, {before}, {activated}, layer});
  nodes.push_back({graph::Binary{graph::BinaryFn::add}, {activated, residual}, {out}, layer});
}

/// Makes Attention return the log-sum-exp of its scores, which its gradient needs.
void add_logarithms(Graph& graph, Node& node, graph::Attention& attention) {
  if (attention.lse || attention.packed_heads > 0 || attention.varlen > 0) return;
  attention.lse = true;
  const Value& context = graph.value(node.outputs[0]);  // (B,T,N,V)
  Value lse;
  lse.dtype = context.dtype == DType::float64 ? DType::float64 : DType::float32;
  lse.shape = {context.shape[0], context.shape[2], context.shape[1]};
  graph.values.push_back(std::move(lse));
  node.outputs.push_back(static_cast<ValueId>(graph.values.size() - 1));
}

}  // namespace

Graph unfuse(Graph graph, const std::vector<bool>& depends) {
  std::vector<Node> nodes;
  for (Node& node : std::exchange(graph.nodes, {})) {
    if (!depends[at(node.outputs[0])]) {
      nodes.push_back(std::move(node));
      continue;
    }
    if (auto* attention = std::get_if<graph::Attention>(&node.op)) add_logarithms(graph, node, *attention);
    graph::Unary* activation = nullptr;
    if (auto* linear = std::get_if<graph::Linear>(&node.op)) activation = &linear->activation;
    if (auto* conv = std::get_if<graph::Conv>(&node.op)) activation = &conv->activation;
    if (activation != nullptr && activation->fn != graph::UnaryFn::linear) {
      const graph::Unary op = std::exchange(*activation, {});
      split(graph, nodes, std::move(node), op);
    } else {
      nodes.push_back(std::move(node));
    }
  }
  graph.nodes = std::move(nodes);
  return graph;
}

}  // namespace attn::gradients
