#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "attn/plan/passes.h"
#include "passes/uses.h"

namespace attn::plan {

using graph::Builder;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

/// The Linears that make query, key and value.
using Projections = std::array<NodeId, 3>;

std::optional<Projections> projections_of(const Graph& graph, const Uses& uses, const std::vector<bool>& fixed,
                                          const Node& node) {
  const auto* attention = std::get_if<graph::Attention>(&node.op);
  if (attention == nullptr || attention->packed_heads > 0) return std::nullopt;
  Projections result{};
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto value = static_cast<std::size_t>(node.inputs[i]);
    const NodeId producer = uses.producer[value];
    if (producer == graph::kNone || uses.count[value] != 1) return std::nullopt;
    const Node& made_by = graph.nodes[static_cast<std::size_t>(producer)];
    const auto* linear = std::get_if<graph::Linear>(&made_by.op);
    if (linear == nullptr || linear->residual || linear->activation.fn != graph::UnaryFn::linear) return std::nullopt;
    if (!fixed[static_cast<std::size_t>(made_by.inputs[1])]) return std::nullopt;
    if (linear->bias && !fixed[static_cast<std::size_t>(made_by.inputs[2])]) return std::nullopt;
    result[i] = producer;
    const Node& first = graph.nodes[static_cast<std::size_t>(result[0])];
    const auto& like = std::get<graph::Linear>(first.op);
    if (made_by.inputs[0] != first.inputs[0] || linear->contracted != like.contracted || linear->bias != like.bias) {
      return std::nullopt;
    }
  }
  const auto head_size = [&](std::size_t i) { return graph.value(node.inputs[i]).shape[3]; };
  if (head_size(0) != head_size(2)) return std::nullopt;
  return result;
}

/// Weights side by side. Layers that share theirs share what this makes of them too.
class SideBySide {
 public:
  explicit SideBySide(Builder& build) : build_(build) {}

  ValueId join(const std::vector<ValueId>& parts, int axis) {
    ValueId& joined = joined_.try_emplace({parts, axis}, graph::kNone).first->second;
    if (joined == graph::kNone) joined = build_.apply(graph::Concat{axis}, parts);
    return joined;
  }

 private:
  Builder& build_;
  std::map<std::pair<std::vector<ValueId>, int>, ValueId> joined_;
};

/// Appends the one Linear, and gives its result (B, T, N+2K, H).
ValueId pack(Builder& build, SideBySide& weights, const std::array<const Node*, 3>& linears) {
  const auto op = std::get<graph::Linear>(linears[0]->op);
  const auto beside = [&](std::size_t input, int axis) {
    std::vector<ValueId> parts;
    for (const Node* linear : linears) parts.push_back(linear->inputs[input]);
    return weights.join(parts, axis);
  };
  std::vector<ValueId> inputs{linears[0]->inputs[0], beside(1, op.contracted)};
  if (op.bias) inputs.push_back(beside(2, 0));
  return build.apply(op, inputs);
}

}  // namespace

Graph pack_projections(Graph graph) {
  const Uses uses(graph);
  const std::vector<bool> fixed = fixed_values(graph);
  std::vector<std::optional<Projections>> found;
  std::vector<bool> packed(graph.nodes.size(), false);
  for (const Node& node : graph.nodes) {
    found.push_back(projections_of(graph, uses, fixed, node));
    if (!found.back()) continue;
    for (const NodeId id : *found.back()) packed[static_cast<std::size_t>(id)] = true;
  }

  const std::vector<Node> nodes = std::exchange(graph.nodes, {});
  Builder build(graph);
  SideBySide weights(build);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (packed[i]) continue;
    if (!found[i]) {
      graph.nodes.push_back(nodes[i]);
      continue;
    }
    std::array<const Node*, 3> linears{};
    for (std::size_t p = 0; p < linears.size(); ++p) linears[p] = &nodes[static_cast<std::size_t>((*found[i])[p])];
    build.set_layer(nodes[i].layer);
    Node attention = nodes[i];
    std::get<graph::Attention>(attention.op).packed_heads = build.shape(nodes[i].inputs[1])[2];
    const ValueId whole = pack(build, weights, linears);
    attention.inputs.erase(attention.inputs.begin(), attention.inputs.begin() + 2);
    attention.inputs[0] = whole;
    graph.nodes.push_back(std::move(attention));
  }
  // The values between are made by nothing any more.
  return remove_dead(std::move(graph));
}

}  // namespace attn::plan
