#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/plan/passes.h"
#include "passes/uses.h"

namespace attn::plan {
namespace {

using graph::at;
using graph::Builder;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

/// For each value: the value that it is a Reshape or Cast of, or itself.
std::vector<ValueId> origins_of(const Graph& graph) {
  std::vector<ValueId> origins(graph.values.size());
  std::iota(origins.begin(), origins.end(), 0);
  for (const Node& node : graph.nodes) {
    if (std::holds_alternative<graph::Reshape>(node.op) || std::holds_alternative<graph::Cast>(node.op))
      origins[at(node.outputs[0])] = origins[at(node.inputs[0])];
  }
  return origins;
}

/// The array (B, S) from which all masks of a self-attention are derived, and its sizes.
struct Padding {
  Dim B = 0, S = 0;
  ValueId mask = graph::kNone;
};
std::optional<Padding> padding_of(const Graph& graph, const std::vector<ValueId>& origins, const Node& node) {
  const auto* attention = std::get_if<graph::Attention>(&node.op);
  if (attention == nullptr || attention->masks == 0 || attention->window || attention->scores ||
      attention->packed_heads > 0) {
    return std::nullopt;
  }
  const Shape& query = graph.value(node.inputs[0]).shape;
  Padding out{query[0], query[1]};
  if (graph.value(node.inputs[1]).shape[1] != out.S) return std::nullopt;
  bool hides_keys = false;  // false: the visible queries see the padding
  for (std::size_t i = 3; i < node.inputs.size(); ++i) {
    const Shape& mask = graph.value(node.inputs[i]).shape;
    const bool keys = mask == Shape{out.B, 1, 1, out.S}, queries = mask == Shape{out.B, 1, out.S, 1};
    const ValueId origin = origins[at(node.inputs[i])];
    if ((!keys && !queries) || graph.value(origin).shape != Shape{out.B, out.S}) return std::nullopt;
    if (out.mask != graph::kNone && out.mask != origin) return std::nullopt;
    out.mask = origin;
    hides_keys |= keys;
  }
  return hides_keys ? std::optional(out) : std::nullopt;
}

/// Rewrites attention, and nodes that treat every position independently, to work on the valid rows.
class PaddingSkipper {
 public:
  PaddingSkipper(Graph graph, const Padding& padding, Dim rows)
      : origins_(origins_of(graph)),
        fixed_(fixed_values(graph)),
        padding_(padding),
        rows_(rows),
        graph_(std::move(graph)),
        build_(graph_),
        packed_(graph_.values.size(), graph::kNone),
        partial_(graph_.values.size(), false),
        zeroed_(graph_.values.size(), false) {}

  Graph run() && {
    const std::vector<Node> nodes = std::exchange(graph_.nodes, {});
    row_ids_ = build_.input("padding/rows", DType::int32, Shape{rows_});
    places_ = build_.input("padding/places", DType::int32, Shape{padding_.B, padding_.S});
    starts_ = build_.input("padding/starts", DType::int32, Shape{padding_.B + 1});
    for (const Node& node : nodes) {
      build_.set_layer(node.layer);
      if (!rewrite(node)) keep(node);
    }
    for (graph::Output& output : graph_.outputs) {
      if (is_partial(output.value)) output.value = whole(output.value);
    }
    return remove_dead(std::move(graph_));
  }

 private:
  [[nodiscard]] const Shape& shape(ValueId id) const { return graph_.value(id).shape; }
  [[nodiscard]] bool is_partial(ValueId id) const { return partial_[at(id)]; }

  /// Returns whether the value has the shape (B, S, …).
  [[nodiscard]] bool has_positions(ValueId id) const {
    return shape(id).rank() >= 3 && shape(id)[0] == padding_.B && shape(id)[1] == padding_.S;
  }

  /// Returns the shape with its first two axes replaced by (1, P), where P is the number of valid rows.
  [[nodiscard]] Shape packed_shape(const Shape& of) const {
    Shape out = of;
    out[0] = 1;
    out[1] = rows_;
    return out;
  }

  /// Keeps a node unchanged. Its inputs must not be partial, unless zeros are acceptable at padding.
  void keep(const Node& node) {
    Node kept = node;
    for (ValueId& input : kept.inputs) {
      if (!is_partial(input)) continue;
      if (!zeroed_[at(input)] && !std::holds_alternative<graph::Slice>(node.op)) {
        const std::string layer = node.layer == graph::kNone ? "" : graph_.layers[at(node.layer)].name;
        throw bad_input(
            "padding cannot be skipped: the layer '{}' ({}) reads the positions that the padding mask hides",
            printable(layer), graph::name_of(node.op));
      }
      input = whole(input);
    }
    graph_.nodes.push_back(std::move(kept));
  }

  /// Scatters the rows of a value to all positions, with zeros at padding.
  ValueId whole(ValueId id) {
    const auto known = std::ranges::find(wholes_, id, &std::pair<ValueId, ValueId>::first);
    if (known != wholes_.end()) return known->second;
    const ValueId packed = packed_[at(id)];
    Shape rows;
    for (int axis = 1; axis < shape(packed).rank(); ++axis) rows.push_back(shape(packed)[axis]);
    const ValueId taken = build_.apply(graph::Gather{0}, {build_.reshape(packed, rows), places_});
    Shape mask = shape(taken);
    for (int axis = 2; axis < mask.rank(); ++axis) mask[axis] = 1;
    const ValueId seen = build_.reshape(build_.cast(padding_.mask, DType::boolean), mask);
    const ValueId out = build_.apply(graph::Select{}, {seen, taken, build_.scalar_like(taken, 0.0)});
    wholes_.emplace_back(id, out);
    return out;
  }

  /// Gathers the rows (1, P, …) of a value (B, S, …).
  ValueId rows(ValueId id) {
    if (at(id) < packed_.size() && packed_[at(id)] != graph::kNone) return packed_[at(id)];
    Shape flat{padding_.B * padding_.S};
    for (int axis = 2; axis < shape(id).rank(); ++axis) flat.push_back(shape(id)[axis]);
    const ValueId taken = build_.apply(graph::Gather{0}, {build_.reshape(id, flat), row_ids_});
    const ValueId out = build_.reshape(taken, packed_shape(shape(id)));
    if (at(id) < packed_.size()) packed_[at(id)] = out;
    return out;
  }

  /// Broadcasts an operand to (B, S, …) with `rank` axes and gathers its rows. Returns an operand without the axes B
  /// and S unchanged.
  ValueId broadcast_rows(ValueId id, int rank) {
    Shape wide;
    for (int axis = shape(id).rank(); axis < rank; ++axis) wide.push_back(1);
    wide.append(shape(id));
    if (wide[0] == 1 && wide[1] == 1) return id;
    if (wide[0] == padding_.B && wide[1] == padding_.S && wide.rank() == shape(id).rank()) return rows(id);
    wide[0] = padding_.B;
    wide[1] = padding_.S;
    return rows(build_.apply(graph::Broadcast{wide}, {id}));
  }

  bool rewrite(const Node& node) {
    const ValueId output = node.outputs[0];
    if (node.outputs.size() != 1 || !has_positions(output)) return false;
    const std::optional<ValueId> packed = std::visit([&](const auto& op) { return packed_result(op, node); }, node.op);
    if (!packed) return false;
    packed_[at(output)] = *packed;
    const bool attends = std::holds_alternative<graph::Attention>(node.op);
    if (attends || std::ranges::any_of(node.inputs, [&](ValueId id) { return is_partial(id); })) {
      partial_[at(output)] = true;
      zeroed_[at(output)] = is_masked(node);
    } else {
      graph_.nodes.push_back(node);  // nodes that are not packed may read the whole value
    }
    return true;
  }

  /// Returns whether the node is a product with the mask, so that its result is 0 at padding.
  [[nodiscard]] bool is_masked(const Node& node) const {
    const auto* binary = std::get_if<graph::Binary>(&node.op);
    return binary != nullptr && binary->fn == graph::BinaryFn::multiply &&
           std::ranges::any_of(node.inputs, [&](ValueId id) { return origins_[at(id)] == padding_.mask; });
  }

  template <typename Op>
  std::optional<ValueId> packed_result(const Op&, const Node&) {
    return std::nullopt;
  }
  std::optional<ValueId> packed_result(const graph::Unary& op, const Node& node) { return on_rows(op, node); }
  std::optional<ValueId> packed_result(const graph::Cast& op, const Node& node) { return on_rows(op, node); }
  std::optional<ValueId> packed_result(const graph::Binary& op, const Node& node) { return on_rows(op, node); }
  std::optional<ValueId> packed_result(const graph::Select& op, const Node& node) { return on_rows(op, node); }
  std::optional<ValueId> packed_result(const graph::Linear& op, const Node& node) {
    if (op.residual || !has_positions(node.inputs[0]) || op.contracted > shape(node.inputs[0]).rank() - 2) return {};
    return on_first(op, node);
  }
  std::optional<ValueId> packed_result(const graph::QuantizedLinear& op, const Node& node) {
    if (op.residual || !has_positions(node.inputs[0]) || op.contracted > shape(node.inputs[0]).rank() - 2) return {};
    return on_first(op, node);
  }
  std::optional<ValueId> packed_result(const graph::LayerNorm& op, const Node& node) {
    if (op.axes.front() < 2) return {};
    return on_first(op, node);
  }
  std::optional<ValueId> packed_result(const graph::BatchNorm& op, const Node& node) {
    if (op.axis < 2) return {};
    return on_first(op, node);
  }
  std::optional<ValueId> packed_result(const graph::Softmax& op, const Node& node) {
    if (std::ranges::min(op.axes) < 2) return {};
    return on_first(op, node);
  }
  std::optional<ValueId> packed_result(const graph::Reduce& op, const Node& node) {
    if (op.axes.empty() || op.axes.front() < 2) return {};
    return on_first(op, node);
  }
  std::optional<ValueId> packed_result(const graph::Reshape&, const Node& node) {
    const Shape& from = shape(node.inputs[0]);
    if (from.rank() < 2 || from[0] != padding_.B || from[1] != padding_.S) return {};
    return build_.reshape(rows(node.inputs[0]), packed_shape(shape(node.outputs[0])));
  }
  std::optional<ValueId> packed_result(const graph::Transpose& op, const Node& node) {
    if (op.permutation[0] != 0 || op.permutation[1] != 1) return {};
    return on_first(op, node);
  }
  std::optional<ValueId> packed_result(const graph::Concat& op, const Node& node) {
    if (op.axis < 2) return {};
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(rows(id));
    return build_.apply(op, inputs);
  }
  std::optional<ValueId> packed_result(const graph::Slice& op, const Node& node) {
    if (shape(node.inputs[0])[0] != padding_.B || shape(node.inputs[0])[1] != padding_.S) return {};
    graph::Slice all = op;
    for (const int axis : {0, 1}) {
      if (op.ranges[static_cast<std::size_t>(axis)].step != 1) return {};
      all.ranges[static_cast<std::size_t>(axis)] = {};  // the sizes show that it takes everything
    }
    return on_first(all, node);
  }
  std::optional<ValueId> packed_result(const graph::Gather& op, const Node& node) {
    const ValueId table = node.inputs[0], indices = node.inputs[1];
    const Shape& places = shape(indices);
    if (op.axis != 0 || !fixed_[at(table)] || places.rank() < 2 || places[0] != padding_.B || places[1] != padding_.S)
      return {};
    return build_.apply(op, {table, rows(indices)});
  }
  std::optional<ValueId> packed_result(const graph::Attention& op, const Node& node) {
    const std::optional<Padding> padding = padding_of(graph_, origins_, node);
    if (!padding || padding->mask != padding_.mask || padding->B != padding_.B || padding->S != padding_.S) return {};
    graph::Attention alone = op;
    alone.masks = 0;
    alone.varlen = padding_.S;
    return build_.apply(alone, {rows(node.inputs[0]), rows(node.inputs[1]), rows(node.inputs[2]), starts_});
  }

  /// An elementwise operation, whose operands are broadcast.
  template <typename Op>
  ValueId on_rows(const Op& op, const Node& node) {
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(broadcast_rows(id, shape(node.outputs[0]).rank()));
    return build_.apply(op, inputs);
  }
  /// An operation of which only the first operand has positions.
  template <typename Op>
  ValueId on_first(const Op& op, const Node& node) {
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = rows(inputs[0]);
    return build_.apply(op, inputs);
  }

  std::vector<ValueId> origins_;
  std::vector<bool> fixed_;
  Padding padding_;
  Dim rows_;
  Graph graph_;
  Builder build_;
  ValueId row_ids_ = graph::kNone, places_ = graph::kNone, starts_ = graph::kNone;
  std::vector<ValueId> packed_;                      // for each original value: its rows (1, P, …), or kNone
  std::vector<std::pair<ValueId, ValueId>> wholes_;  // a value and its rows scattered to all positions
  std::vector<bool> partial_;                        // for each value: whether only its rows exist
  std::vector<bool> zeroed_;                         // for each partial value: whether it is 0 at padding
};

}  // namespace

ValueId padding_mask(const Graph& graph) {
  const std::vector<ValueId> origins = origins_of(graph);
  for (const Node& node : graph.nodes) {
    if (const auto padding = padding_of(graph, origins, node)) return padding->mask;
  }
  throw bad_input("padding cannot be skipped: no self-attention has a padding mask (batch, length) and no other mask");
}

Graph skip_padding(Graph graph, ValueId mask, Dim rows) {
  const Shape& shape = graph.value(mask).shape;
  return PaddingSkipper(std::move(graph), {shape[0], shape[1], mask}, rows).run();
}

}  // namespace attn::plan
