#include "attn/probe/edits.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "attn/base/error.h"
#include "attn/plan/passes.h"

namespace attn::probe {
namespace {

using graph::at;
using graph::Graph;
using graph::Node;
using graph::ValueId;

/// Makes all nodes from `first` on, the outputs and the scores read `other` instead of `value`.
void redirect(Graph& graph, std::size_t first, ValueId value, ValueId other) {
  for (std::size_t i = first; i < graph.nodes.size(); ++i) std::ranges::replace(graph.nodes[i].inputs, value, other);
  for (graph::Output& output : graph.outputs)
    if (output.value == value) output.value = other;
  for (graph::Scores& scores : graph.scores)
    if (scores.value == value) scores.value = other;
}

/// Applies `change` behind the producer of the value, and redirects its readers to the result.
template <typename Change>
Graph changed(Graph graph, ValueId value, Change change) {
  const auto produces = [&](const Node& node) { return std::ranges::find(node.outputs, value) != node.outputs.end(); };
  const auto producer = std::ranges::find_if(graph.nodes, produces);
  if (producer == graph.nodes.end()) throw internal_error("only computed values can be changed");
  const auto position = std::distance(graph.nodes.begin(), producer) + 1;
  const auto count = static_cast<std::ptrdiff_t>(graph.nodes.size());
  graph::Builder builder(graph);
  builder.set_layer(graph.nodes[static_cast<std::size_t>(position - 1)].layer);
  const ValueId result = change(builder);
  const auto begin = graph.nodes.begin();
  const auto added = std::distance(begin + count, graph.nodes.end());
  std::rotate(begin + position, begin + count, graph.nodes.end());
  redirect(graph, static_cast<std::size_t>(position + added), value, result);
  return graph;
}

}  // namespace

Graph capture(Graph graph, ValueId value, std::string name) {
  graph.outputs.push_back({std::move(name), value});
  return graph;
}

Graph replace(Graph graph, ValueId value) {
  const graph::Value& old = graph.value(value);
  const ValueId given = graph::Builder(graph).input(std::string(kReplacement), old.dtype, Shape(old.shape));
  redirect(graph, 0, value, given);
  return graph;
}

gradients::Differentiated gradients_of(Graph graph, ValueId scalar, std::span<const ValueId> values) {
  gradients::Differentiated out = gradients::differentiate(plan::remove_dead(std::move(graph)), scalar, values);
  out.graph.outputs.clear();
  for (const ValueId gradient : out.gradients)
    if (gradient != graph::kNone) out.graph = capture(std::move(out.graph), gradient, "");
  return out;
}

Graph scale(Graph graph, ValueId value, double factor) {
  return changed(std::move(graph), value, [&](graph::Builder& builder) {
    return builder.binary(graph::BinaryFn::multiply, value, builder.scalar_like(value, factor));
  });
}

Graph add(Graph graph, ValueId value, const Tensor& addend, const FromPosition& from) {
  return changed(std::move(graph), value, [&](graph::Builder& builder) {
    const ValueId more = builder.constant(addend.cast(builder.dtype(value)));
    const ValueId sum = builder.binary(graph::BinaryFn::add, value, more);
    if (from.first <= 0) return sum;
    ValueId position = builder.apply(graph::Iota{{builder.shape(value)[1], 1}, DType::int32, 0, 0.0, 1.0}, {});
    if (from.before != graph::kNone) position = builder.binary(graph::BinaryFn::add, position, from.before);
    const ValueId first = builder.scalar_like(position, static_cast<double>(from.first));
    const ValueId mask = builder.binary(graph::BinaryFn::greater_equal, position, first);
    return builder.apply(graph::Select{}, {mask, sum, value});
  });
}

}  // namespace attn::probe
