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

/// The dense maps that make query, key and value.
using Projections = std::array<NodeId, 3>;

/// Returns whether the weights of the dense map can be concatenated with those of `like`.
bool can_join(const graph::Linear& op, const graph::Linear& like) {
  return !op.residual && op.activation.fn == graph::UnaryFn::linear && op.contracted == like.contracted &&
         op.bias == like.bias;
}
bool is_same(const std::optional<graph::IntegerRange>& a, const std::optional<graph::IntegerRange>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->low == b->low && a->high == b->high && a->epsilon == b->epsilon;
}
bool can_join(const graph::QuantizedLinear& op, const graph::QuantizedLinear& like) {
  return !op.residual && op.activation.fn == graph::UnaryFn::linear && op.contracted == like.contracted &&
         op.bias == like.bias && is_same(op.inputs, like.inputs) && !op.transposed && !op.grouped && !op.rounded &&
         op.pairs == graph::Pairs::none;
}
bool can_join(const Node& node, const Node& like) {
  if (const auto* linear = std::get_if<graph::Linear>(&node.op)) {
    const auto* other = std::get_if<graph::Linear>(&like.op);
    return other != nullptr && can_join(*linear, *other);
  }
  const auto* quantized = std::get_if<graph::QuantizedLinear>(&node.op);
  const auto* other = std::get_if<graph::QuantizedLinear>(&like.op);
  return quantized != nullptr && other != nullptr && can_join(*quantized, *other);
}

bool has_axes_of_units(const Graph& graph, const Node& node, const graph::QuantizedLinear& op) {
  const Shape& kernel = graph.value(node.inputs[1]).shape;
  return kernel.rank() == op.contracted + op.units.rank() && graph.value(node.inputs[2]).shape == op.units;
}

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
    result[i] = producer;
    const Node& first = graph.nodes[static_cast<std::size_t>(result[0])];
    if (made_by.inputs[0] != first.inputs[0] || !can_join(made_by, first)) return std::nullopt;
    for (std::size_t k = 1; k < made_by.inputs.size(); ++k)
      if (!fixed[static_cast<std::size_t>(made_by.inputs[k])]) return std::nullopt;
    // The heads must be axes of quantized kernels and of their scales, which are concatenated along these axes.
    const auto* quantized = std::get_if<graph::QuantizedLinear>(&made_by.op);
    if (quantized != nullptr && !has_axes_of_units(graph, made_by, *quantized)) return std::nullopt;
  }
  const auto head_size = [&](std::size_t i) { return graph.value(node.inputs[i]).shape[3]; };
  if (head_size(0) != head_size(2)) return std::nullopt;
  return result;
}

/// Concatenates weights. Layers that share weights share their concatenation too.
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

/// Appends the packed dense map, and returns its result (B, T, N+2K, H).
ValueId pack(Builder& build, SideBySide& weights, const std::array<const Node*, 3>& maps) {
  graph::Op op = maps[0]->op;
  int contracted = 0;
  if (auto* const quantized = std::get_if<graph::QuantizedLinear>(&op)) {
    contracted = quantized->contracted;
    quantized->units[0] = 0;
    for (const Node* map : maps) quantized->units[0] += std::get<graph::QuantizedLinear>(map->op).units[0];
  } else {
    contracted = std::get<graph::Linear>(op).contracted;
  }
  std::vector<ValueId> inputs{maps[0]->inputs[0]};
  for (std::size_t input = 1; input < maps[0]->inputs.size(); ++input) {
    std::vector<ValueId> parts;
    for (const Node* map : maps) parts.push_back(map->inputs[input]);
    inputs.push_back(weights.join(parts, input == 1 ? contracted : 0));
  }
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
    std::array<const Node*, 3> maps{};
    for (std::size_t p = 0; p < maps.size(); ++p) maps[p] = &nodes[static_cast<std::size_t>((*found[i])[p])];
    build.set_layer(nodes[i].layer);
    Node attention = nodes[i];
    std::get<graph::Attention>(attention.op).packed_heads = build.shape(nodes[i].inputs[1])[2];
    const ValueId whole = pack(build, weights, maps);
    attention.inputs.erase(attention.inputs.begin(), attention.inputs.begin() + 2);
    attention.inputs[0] = whole;
    graph.nodes.push_back(std::move(attention));
  }
  // The values that attention read before have no producer any more.
  return remove_dead(std::move(graph));
}

}  // namespace attn::plan
