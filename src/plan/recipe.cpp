#include "attn/plan/recipe.h"

#include <fmt/format.h>

#include <algorithm>

#include "attn/base/error.h"

namespace attn::plan {

using graph::at;
using graph::Graph;
using graph::Node;
using graph::ValueId;

namespace {

/// Returns a name for an operation that only moves elements, with those parameters that the result's type does not
/// show. Returns empty for an operation that computes.
std::optional<std::string> move_of(const graph::Op& op) {
  return std::visit(
      graph::Overloaded{
          [](const graph::Cast&) { return std::optional<std::string>("cast"); },
          [](const graph::Reshape&) { return std::optional<std::string>("reshape"); },
          [](const graph::Transpose& transpose) {
            return std::optional(fmt::format("transpose({})", fmt::join(transpose.permutation, ",")));
          },
          [](const graph::Concat& concat) { return std::optional(fmt::format("concat({})", concat.axis)); },
          [](const auto&) { return std::optional<std::string>(); },
      },
      op);
}

const Node* maker_of(const Graph& graph, ValueId id) {
  const auto makes = [id](const Node& node) { return std::ranges::find(node.outputs, id) != node.outputs.end(); };
  const auto found = std::ranges::find_if(graph.nodes, makes);
  return found == graph.nodes.end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::string> recipe(const Graph& graph, ValueId id) {
  const graph::Value& value = graph.value(id);
  if (value.kind == graph::ValueKind::weight) {
    const graph::WeightSpec& spec = graph.weights[at(value.weight)];
    return fmt::format("{}\n{}", spec.path, spec.store_path);
  }
  if (value.kind != graph::ValueKind::computed) return std::nullopt;
  const Node* const node = maker_of(graph, id);
  if (node == nullptr) return std::nullopt;
  const auto move = move_of(node->op);
  if (!move) return std::nullopt;
  std::string text = fmt::format("{} {} {}[", *move, name_of(value.dtype), value.shape.str());
  for (const ValueId input : node->inputs) {
    const auto part = recipe(graph, input);
    if (!part) return std::nullopt;
    text += *part + ";";
  }
  return text + "]";
}

}  // namespace attn::plan
