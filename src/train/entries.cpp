#include "entries.h"

#include <algorithm>
#include <vector>

namespace attn::train {

using graph::BinaryFn;
using graph::Node;
using graph::ValueId;

namespace {

const Node* maker_of(const graph::Graph& graph, ValueId id) {
  const auto found = std::ranges::find_if(graph.nodes, [id](const Node& node) { return node.outputs[0] == id; });
  return found == graph.nodes.end() ? nullptr : &*found;
}

/// Collects the gathers of embedding rows that a gradient is the sum of. Returns false if it has other terms.
bool collect(const graph::Graph& graph, ValueId id, std::vector<Node>& lookups) {
  const Node* const node = maker_of(graph, id);
  if (node == nullptr) return false;
  if (const auto* scatter = std::get_if<graph::ScatterAdd>(&node->op)) {
    lookups.push_back(*node);
    return scatter->axis == 0;
  }
  if (std::holds_alternative<graph::Cast>(node->op)) return collect(graph, node->inputs[0], lookups);
  const auto* binary = std::get_if<graph::Binary>(&node->op);
  return binary != nullptr && binary->fn == BinaryFn::add && collect(graph, node->inputs[0], lookups) &&
         collect(graph, node->inputs[1], lookups);
}

}  // namespace

std::optional<EntrySums> entry_sums(graph::Graph& graph, ValueId gradient, const EntryOptions& options) {
  std::vector<Node> lookups;
  if (!collect(graph, gradient, lookups)) return std::nullopt;
  const DType dtype = graph.value(gradient).dtype;
  graph::Builder b(graph);
  EntrySums out;
  const auto add = [&](ValueId& sum, ValueId more) {
    sum = sum == graph::kNone ? more : b.binary(BinaryFn::add, sum, more);
  };
  for (const Node& lookup : lookups) {
    b.set_layer(lookup.layer);
    ValueId entries = b.cast(lookup.inputs[0], dtype);
    if (options.limit != graph::kNone) {
      const ValueId limit = b.cast(options.limit, dtype);
      entries = b.binary(BinaryFn::minimum, entries, limit);
      entries = b.binary(BinaryFn::maximum, entries, b.unary(graph::UnaryFn::negative, limit));
    }
    const ValueId indices = lookup.inputs[1];
    add(out.sum, b.apply(lookup.op, {entries, indices}));
    add(out.squares, b.apply(lookup.op, {b.unary(graph::UnaryFn::square, entries), indices}));
    if (options.sizes) add(out.sizes, b.apply(lookup.op, {b.unary(graph::UnaryFn::absolute, entries), indices}));
  }
  return out;
}

}  // namespace attn::train
