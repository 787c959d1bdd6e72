#include <algorithm>

#include "attn/plan/passes.h"
#include "passes/uses.h"

namespace attn::plan {

using graph::Graph;
using graph::ValueId;

Graph remove_dead(Graph graph) {
  std::vector<bool> needed(graph.values.size(), false);
  const auto need = [&](ValueId id) { needed[static_cast<std::size_t>(id)] = true; };
  const auto is_needed = [&](ValueId id) { return needed[static_cast<std::size_t>(id)]; };
  for (const graph::Output& output : graph.outputs) need(output.value);
  for (const graph::Scores& scores : graph.scores) need(scores.value);

  std::vector<bool> removed(graph.nodes.size(), false);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    graph::Node& node = graph.nodes[i];
    // Other ranks wait for this one in a collective, even if its result is unused here.
    const bool acts = std::holds_alternative<graph::Append>(node.op) || graph::is_collective(node.op);
    if (!acts && std::none_of(node.outputs.begin(), node.outputs.end(), is_needed)) {
      removed[i] = true;
      continue;
    }
    auto* attention = std::get_if<graph::Attention>(&node.op);
    if (attention != nullptr && attention->lse && !is_needed(node.outputs.back())) {
      attention->lse = false;
      node.outputs.pop_back();
    }
    if (attention != nullptr && attention->scores && !is_needed(node.outputs[1])) {
      attention->scores = false;
      node.outputs.erase(node.outputs.begin() + 1);
    }
    for (const ValueId id : node.inputs) need(id);
  }
  drop_nodes(graph, removed);
  return graph;
}

}  // namespace attn::plan
