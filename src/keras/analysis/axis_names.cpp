#include "analysis/axis_names.h"

#include <algorithm>
#include <optional>

#include "attn/base/size.h"

namespace attn::keras {
namespace {

using Words = std::vector<std::string>;
std::size_t place(int axis) { return static_cast<std::size_t>(axis); }

/// Returns the names of the axes of `to`, a view of `from` whose axes have `names`; empty if an axis was split. Merged
/// axes have a joint name ("c_in·m") if `merges` is set, otherwise none.
std::optional<Words> viewed(const Shape& from, const Words& names, const Shape& to, bool merges) {
  Words out(place(to.rank()));
  int i = 0;
  for (int axis = 0; axis < to.rank(); ++axis) {
    if (to[axis] == 1) {
      if (i < from.rank() && from[i] == 1) out[place(axis)] = names[place(i++)];
      continue;
    }
    while (i < from.rank() && from[i] == 1) ++i;
    if (i == from.rank()) return std::nullopt;
    std::optional<std::int64_t> size = from[i];
    std::string name = names[place(i++)];
    const auto join = [&] {
      const std::string& more = names[place(i)];
      name = merges && !name.empty() && !more.empty() ? name + "·" + more : "";
      size = checked_mul(*size, from[i++]);
    };
    while (size && *size < to[axis] && i < from.rank()) join();
    if (!size || *size != to[axis]) return std::nullopt;
    while (merges && i < from.rank() && from[i] == 1 && !names[place(i)].empty() && !name.empty()) join();
    out[place(axis)] = name;
  }
  while (i < from.rank() && from[i] == 1) ++i;
  return i == from.rank() ? std::optional(out) : std::nullopt;
}

/// Returns the letter with the suffix of a window's axis: "o", "o_h", "o_w".
std::string of_window(const char* letter, int axis, int axes) {
  if (axes == 1) return letter;
  return std::string(letter) + "_" + std::string("dhw").substr(place(axis + 3 - axes), 1);
}

}  // namespace

bool is_pairwise(const graph::Graph& graph, const graph::Node& node) {
  const auto* binary = std::get_if<graph::Binary>(&node.op);
  if (binary == nullptr || binary->fn != graph::BinaryFn::add) return false;
  const Shape &query = graph.value(node.inputs[0]).shape, &key = graph.value(node.inputs[1]).shape;
  return query.rank() >= 3 && query.rank() == key.rank() && query[-2] == 1 && key[-3] == 1;
}

const Words& AxisNames::of(graph::ValueId id) {
  const auto [it, added] = known_.of_value.try_emplace(id);
  if (!added) return it->second;
  const std::int32_t weight = owners_.weight(id);
  it->second = weight == graph::kNone ? of_input(shape(id)) : of_weight(weight, shape(id));
  return it->second;
}

std::string AxisNames::of(const graph::Node& node, const graph::Factor& factor) {
  if (factor.of == graph::kNone) return "";
  if (factor.cells) return of_window("r", factor.axis - 1, shape(factor.of).rank() - 2);
  const bool of_keys =
      std::holds_alternative<graph::Attention>(node.op) && factor.of != node.inputs[0] && factor.axis == 1;
  return of_keys ? "S" : of(factor.of)[place(factor.axis)];
}

Words AxisNames::of_weight(std::int32_t weight, const Shape& shape) const {
  const Shape& whole = graph_.weights[static_cast<std::size_t>(weight)].shape;
  const auto names = known_.of_weight.find(weight);
  if (names == known_.of_weight.end()) return Words(place(shape.rank()));
  if (whole == shape) return names->second;
  if (const auto found = viewed(whole, names->second, shape, true)) return *found;
  // The weight may be transposed. An axis gets the name of the only axis of this size.
  Words out(place(shape.rank()));
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (std::count(whole.begin(), whole.end(), shape[axis]) == 1)
      out[place(axis)] =
          names->second[place(static_cast<int>(std::find(whole.begin(), whole.end(), shape[axis]) - whole.begin()))];
  return out;
}

Words AxisNames::of_input(const Shape& shape) const {
  Words out(place(shape.rank()));
  if (shape.rank() > 0) out[0] = "B";
  if (shape.rank() == 3) out[1] = "T|S";
  // The last axis of an input is named like the symbol of a weight that has this size.
  for (const char* width : {"d_model", "c"})
    for (const Symbol& known : symbols_)
      if (shape.rank() > 1 && known.symbol == width && known.value == static_cast<Count>(shape[-1])) out.back() = width;
  return out;
}

void AxisNames::name_last(graph::ValueId id, const Words& last) {
  if (owners_.weight(id) != graph::kNone) return;
  Words out(place(shape(id).rank()));
  if (out.size() < last.size()) return;
  if (out.size() > last.size()) out.front() = "B";
  std::copy(last.begin(), last.end(), out.end() - static_cast<std::ptrdiff_t>(last.size()));
  known_.of_value[id] = out;
}

void AxisNames::name_operands(const graph::Node& node) {
  if (is_pairwise(graph_, node)) {
    name_last(node.inputs[0], {"T", "", "d_model"});
    name_last(node.inputs[1], {"", "S", "d_model"});
  }
  const auto* product = std::get_if<graph::MatMul>(&node.op);
  if (product == nullptr) return;
  if (product->transpose_y) {
    name_last(node.inputs[0], {"T", "d_model"});
    name_last(node.inputs[1], {"S", "d_model"});
  } else {
    name_last(node.inputs[1], {"S", "d_model|d_value"});
  }
}

void AxisNames::pass(const graph::Node& node, bool attends) {
  if (attends) name_operands(node);
  Words names = of_output(node);
  if (!names.empty()) known_.of_value[node.outputs.front()] = std::move(names);
}

Words AxisNames::of_output(const graph::Node& node) {
  const Shape& out = shape(node.outputs.front());
  if (const auto* linear = std::get_if<graph::Linear>(&node.op)) {
    Words names = of(node.inputs[0]);
    names.resize(names.size() - place(linear->contracted));
    const Words& kernel = of(node.inputs[1]);
    names.insert(names.end(), kernel.begin() + linear->contracted, kernel.end());
    return names;
  }
  if (const auto* product = std::get_if<graph::MatMul>(&node.op);
      product != nullptr && shape(node.inputs[0]).rank() == out.rank() && shape(node.inputs[1]).rank() >= 2) {
    Words names = of(node.inputs[0]);
    const Words& y = of(node.inputs[1]);
    if (product->transpose_x) std::swap(names[names.size() - 2], names.back());
    names.back() = y[y.size() - (product->transpose_y ? 2 : 1)];
    return names;
  }
  if (std::holds_alternative<graph::Conv>(node.op)) {
    const Shape& kernel = shape(node.inputs[1]);
    const int axes = kernel.rank() - 2;
    Words names = of(node.inputs[1]);
    for (int axis = 0; axis < kernel.rank(); ++axis)
      if (names[place(axis)].empty() && kernel[axis] > 1)
        names[place(axis)] = axis < axes ? of_window("k", axis, axes) : axis == axes ? "c_in" : "f";
    known_.of_value[node.inputs[1]] = names;
    return of_windows(node, names.back());
  }
  if (std::holds_alternative<graph::Pool>(node.op)) {
    if (!known_.of_value.contains(node.inputs[0])) name_last(node.inputs[0], {"c"});
    return of_windows(node, "c");
  }
  if (const auto* transpose = std::get_if<graph::Transpose>(&node.op)) {
    const Words& names = of(node.inputs[0]);
    Words turned;
    for (const int axis : transpose->permutation) turned.push_back(names[place(axis)]);
    return turned;
  }
  if (std::holds_alternative<graph::Reshape>(node.op)) {
    // A value from outside is named by its own shape, not through a view of it.
    const bool weight = owners_.weight(node.inputs[0]) != graph::kNone;
    if (!weight && !known_.of_value.contains(node.inputs[0])) return {};
    return viewed(shape(node.inputs[0]), of(node.inputs[0]), out, weight).value_or(Words{});
  }
  if (const auto* reduce = std::get_if<graph::Reduce>(&node.op); reduce != nullptr && !reduce->keepdims) {
    const Words& names = of(node.inputs[0]);
    Words left;
    for (int axis = 0; axis < static_cast<int>(names.size()); ++axis)
      if (std::find(reduce->axes.begin(), reduce->axes.end(), axis) == reduce->axes.end())
        left.push_back(names[place(axis)]);
    return left;
  }
  if (std::holds_alternative<graph::Attention>(node.op)) {
    Words names = of(node.inputs[0]);
    names.back() = of(node.inputs[2]).back();
    return names;
  }
  return of_same_shape(node);
}

Words AxisNames::of_windows(const graph::Node& node, const std::string& channels) {
  const int axes = shape(node.outputs.front()).rank() - 2;
  Words names{"B"};
  for (int axis = 0; axis < axes; ++axis) names.push_back(of_window("o", axis, axes));
  names.push_back(channels);
  return names;
}

Words AxisNames::of_same_shape(const graph::Node& node) {
  const Shape& out = shape(node.outputs.front());
  const bool of_weights = owners_.weight(node.outputs.front()) != graph::kNone;
  Words names;
  for (const graph::ValueId input : node.inputs) {
    if ((owners_.weight(input) != graph::kNone) != of_weights || shape(input) != out) continue;
    names = of(input);
    break;
  }
  if (of_weights || !std::holds_alternative<graph::Binary>(node.op)) return names;
  // Operands may be broadcast. Each one names the axes in which it has the size of the result.
  names.resize(place(out.rank()));
  for (const graph::ValueId input : node.inputs) {
    if (owners_.weight(input) == graph::kNone && !known_.of_value.contains(input)) continue;
    const Words& more = of(input);
    for (int axis = 1; axis <= shape(input).rank(); ++axis)
      if (std::string& name = names[names.size() - place(axis)]; name.empty() && shape(input)[-axis] == out[-axis])
        name = more[more.size() - place(axis)];
  }
  const bool named = std::any_of(names.begin(), names.end(), [](const std::string& name) { return !name.empty(); });
  return named ? names : Words{};
}

}  // namespace attn::keras
