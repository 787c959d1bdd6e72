#include "attn/plan/passes.h"
#include "passes/uses.h"

namespace attn::plan {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

template <typename Linear>
bool is_open(const Linear& op) {
  return !op.residual && op.activation.fn == graph::UnaryFn::linear;
}

/// Returns whether the node can take a residual.
bool takes_residual(const graph::Node& node) {
  if (const auto* linear = std::get_if<graph::Linear>(&node.op)) return is_open(*linear);
  const auto* quantized = std::get_if<graph::QuantizedLinear>(&node.op);
  return quantized != nullptr && is_open(*quantized);
}

void set_residual(graph::Node& node) {
  if (auto* const linear = std::get_if<graph::Linear>(&node.op)) {
    linear->residual = true;
  } else {
    std::get<graph::QuantizedLinear>(node.op).residual = true;
  }
}

/// Returns the node that makes `value`, if it is a dense map that can take `other` as its residual; otherwise kNone.
NodeId linear_for(const Graph& graph, const Uses& uses, ValueId value, ValueId other) {
  const auto index = static_cast<std::size_t>(value);
  const NodeId producer = uses.producer[index];
  if (producer == graph::kNone || uses.count[index] != 1) return graph::kNone;
  if (!takes_residual(graph.nodes[static_cast<std::size_t>(producer)])) return graph::kNone;
  if (graph.value(other).shape != graph.value(value).shape) return graph::kNone;
  const bool ready = uses.producer[static_cast<std::size_t>(other)] < producer;  // always, without a producer
  return ready ? producer : graph::kNone;
}

}  // namespace

Graph fuse_residual(Graph graph) {
  std::vector<bool> removed(graph.nodes.size(), false);
  Uses uses(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& sum = graph.nodes[i];
    const auto* binary = std::get_if<graph::Binary>(&sum.op);
    if (binary == nullptr || binary->fn != graph::BinaryFn::add) continue;
    for (const auto& [value, other] : {std::pair(sum.inputs[0], sum.inputs[1]), {sum.inputs[1], sum.inputs[0]}}) {
      const NodeId id = linear_for(graph, uses, value, other);
      if (id == graph::kNone) continue;
      Node& node = graph.nodes[static_cast<std::size_t>(id)];
      set_residual(node);
      node.inputs.push_back(other);
      node.outputs = sum.outputs;
      uses.producer[static_cast<std::size_t>(sum.outputs[0])] = id;  // the sum is now available earlier
      removed[i] = true;
      break;
    }
  }
  drop_nodes(graph, removed);
  return graph;
}

}  // namespace attn::plan
