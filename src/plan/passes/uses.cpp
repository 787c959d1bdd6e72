#include "passes/uses.h"

namespace attn::plan {

using graph::at;
using graph::Graph;
using graph::Node;
using graph::ValueId;
using graph::ValueKind;

Uses::Uses(const Graph& graph)
    : producer(graph.values.size(), graph::kNone),
      reader(graph.values.size(), graph::kNone),
      count(graph.values.size(), 0) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId id : graph.nodes[i].outputs) producer[at(id)] = static_cast<graph::NodeId>(i);
    for (const ValueId id : graph.nodes[i].inputs) {
      reader[at(id)] = static_cast<graph::NodeId>(i);
      ++count[at(id)];
    }
  }
  for (const graph::Output& output : graph.outputs) ++count[at(output.value)];
  for (const graph::Scores& scores : graph.scores) ++count[at(scores.value)];
}

void drop_nodes(Graph& graph, const std::vector<bool>& removed) {
  std::vector<Node> kept;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!removed[i]) kept.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(kept);

  std::vector<bool> exists;
  for (const graph::Value& value : graph.values) exists.push_back(value.kind != ValueKind::computed);
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) exists[at(id)] = true;
  }
  for (graph::Layer& layer : graph.layers) {
    std::erase_if(layer.outputs, [&](ValueId id) { return !exists[at(id)]; });
  }
}

}  // namespace attn::plan
