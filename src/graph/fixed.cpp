#include <algorithm>

#include "attn/graph/graph.h"

namespace attn::graph {

std::vector<bool> fixed_values(const Graph& graph) {
  const auto at = [](ValueId id) { return static_cast<std::size_t>(id); };
  std::vector<bool> fixed;
  for (const Value& value : graph.values)
    fixed.push_back(value.kind == ValueKind::weight || value.kind == ValueKind::constant);
  for (const Node& node : graph.nodes) {
    // Collectives are never prepared: all ranks run them in the order of the steps.
    const bool all = !is_collective(node.op) &&
                     std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return fixed[at(id)]; });
    for (const ValueId id : node.outputs) fixed[at(id)] = all;
  }
  return fixed;
}

}  // namespace attn::graph
