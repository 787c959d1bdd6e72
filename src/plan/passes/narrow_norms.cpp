#include "attn/plan/passes.h"
#include "passes/uses.h"

namespace attn::plan {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

Graph narrow_norms(Graph graph) {
  const Uses uses(graph);
  std::vector<bool> removed(graph.nodes.size(), false);
  const auto cast_at = [&](NodeId id) -> const Node* {
    if (id == graph::kNone) return nullptr;
    const Node& node = graph.nodes[static_cast<std::size_t>(id)];
    return std::holds_alternative<graph::Cast>(node.op) ? &node : nullptr;
  };
  for (Node& norm : graph.nodes) {
    if (!std::holds_alternative<graph::LayerNorm>(norm.op)) continue;
    const auto y = static_cast<std::size_t>(norm.outputs[0]);
    const NodeId back = uses.reader[y];
    const Node* const widening = cast_at(uses.producer[static_cast<std::size_t>(norm.inputs[0])]);
    const Node* const narrowing = cast_at(back);
    if (widening == nullptr || narrowing == nullptr || uses.count[y] != 1) continue;
    const DType half = graph.value(widening->inputs[0]).dtype;
    const bool is_half = half == DType::bfloat16 || half == DType::float16;
    if (!is_half || graph.value(norm.outputs[0]).dtype != DType::float32 ||
        graph.value(narrowing->outputs[0]).dtype != half)
      continue;
    norm.inputs[0] = widening->inputs[0];
    norm.outputs[0] = narrowing->outputs[0];
    removed[static_cast<std::size_t>(back)] = true;
  }
  drop_nodes(graph, removed);
  return remove_dead(std::move(graph));
}

}  // namespace attn::plan
