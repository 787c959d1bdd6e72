#include "attn/run/inputs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "attn/base/error.h"
#include "attn/base/rng.h"
#include "attn/base/text.h"

namespace attn::run {
namespace {

using graph::ValueId;

/// Returns whether the operation's result consists of unchanged elements of its first input, or of all inputs. Indices
/// that are clipped at 0 count too.
bool hands_on(const graph::Op& op) {
  const auto* const binary = std::get_if<graph::Binary>(&op);
  return (binary != nullptr && binary->fn == graph::BinaryFn::maximum) || std::holds_alternative<graph::Cast>(op) ||
         std::holds_alternative<graph::Reshape>(op) || std::holds_alternative<graph::Slice>(op) ||
         std::holds_alternative<graph::Transpose>(op) || std::holds_alternative<graph::Broadcast>(op) ||
         std::holds_alternative<graph::Concat>(op);
}

}  // namespace

std::optional<std::int64_t> indexed_rows(const graph::Graph& graph, ValueId input) {
  std::vector<bool> derived(graph.values.size(), false);
  derived[static_cast<std::size_t>(input)] = true;
  std::optional<std::int64_t> rows;
  for (const graph::Node& node : graph.nodes) {
    const auto is_derived = [&](ValueId id) { return derived[static_cast<std::size_t>(id)]; };
    if (const auto* gather = std::get_if<graph::Gather>(&node.op)) {
      if (!is_derived(node.inputs[1])) continue;
      const Dim size = graph.value(node.inputs[0]).shape[gather->axis];
      rows = rows ? std::min(*rows, size) : size;
    } else if (hands_on(node.op) && std::any_of(node.inputs.begin(), node.inputs.end(), is_derived)) {
      derived[static_cast<std::size_t>(node.outputs[0])] = true;
    }
  }
  return rows;
}

namespace {

Tensor random_input(const graph::Graph& graph, ValueId id, std::uint64_t seed) {
  const graph::Value& value = graph.value(id);
  Tensor tensor(value.dtype, value.shape);
  RandomStream random(seed, value.name);
  const std::optional<std::int64_t> table = indexed_rows(graph, id);
  if (is_floating(value.dtype) && !table) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, random.normal());
    return tensor;
  }
  const bool mask = value.dtype == DType::boolean || value.name.find("mask") != std::string::npos;
  const double rows = static_cast<double>(table.value_or(10));
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, mask ? 1.0 : std::floor(random.uniform() * rows));
  return tensor;
}

bool are_whole(const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (std::trunc(tensor.at(i)) != tensor.at(i)) return false;  // false for NaN
  return true;
}

Tensor fitted(const graph::Value& value, const Tensor& given) {
  const std::string name = printable(value.name);
  if (given.shape() != value.shape)
    throw bad_input("the input '{}' has the shape {}, but its array has {}", name, value.shape.str(),
                    given.shape().str())
        .about("inputs");
  if (given.dtype() == value.dtype) return given;
  const bool to_float = is_floating(value.dtype), from_float = is_floating(given.dtype());
  if (from_float && !to_float) {
    const std::string hint =
        are_whole(given) ? fmt::format("; its values are integers: save it with .astype('{}')", name_of(value.dtype))
                         : "";
    throw bad_input("the input '{}' is {}, but its array is {}{}", name, name_of(value.dtype), name_of(given.dtype()),
                    hint)
        .about("inputs");
  }
  Tensor out = given.cast(value.dtype);
  if (!to_float)
    for (std::int64_t i = 0; i < out.size(); ++i)
      if (out.at(i) != given.at(i))
        throw bad_input("the input '{}' is {}, which cannot represent the value {} of its array", name,
                        name_of(value.dtype), given.at(i));
  return out;
}

/// "arr_0": the name that numpy.savez gives an array without a name.
bool is_numbered_by_numpy(std::string_view name) {
  constexpr std::string_view kBegin = "arr_";
  return name.size() > kBegin.size() && name.starts_with(kBegin) &&
         name.find_first_not_of("0123456789", kBegin.size()) == std::string_view::npos;
}

}  // namespace

bool is_misspelt(const std::string& name, const std::vector<std::string>& inputs,
                 const std::map<std::string, Tensor>& given) {
  std::vector<std::string> missing;
  for (const std::string& input : inputs)
    if (!given.contains(input)) missing.push_back(input);
  return name.size() > 1 && !did_you_mean(name, std::span<const std::string>(missing)).empty();
}

std::map<std::string, Tensor> name_inputs(const std::vector<std::string>& inputs,
                                          const std::vector<NamedTensor>& arrays, const std::string& file,
                                          std::vector<std::string>* others) {
  const auto is_input = [&](const NamedTensor& array) {
    return std::find(inputs.begin(), inputs.end(), array.name) != inputs.end();
  };
  const bool npy = file.ends_with(".npy");
  const auto is_no_name = [&](const NamedTensor& array) {
    return npy || array.name.starts_with("keras_tensor") || is_numbered_by_numpy(array.name);
  };
  if (arrays.empty())
    throw bad_input("{}: contains no arrays; the inputs are {}", printable(file), printable(join(inputs, ", ")))
        .about("inputs");
  std::map<std::string, Tensor> out;
  const bool names_none = std::none_of(arrays.begin(), arrays.end(), is_input);
  const bool is_clear = others != nullptr && inputs.size() == 1;  // there is only one input
  if (names_none && arrays.size() == inputs.size() &&
      (is_clear || std::all_of(arrays.begin(), arrays.end(), is_no_name))) {
    for (std::size_t i = 0; i < inputs.size(); ++i) out.emplace(inputs[i], arrays[i].tensor);
    return out;
  }
  for (const NamedTensor& array : arrays)
    if (is_input(array)) out.emplace(array.name, array.tensor);
  for (const NamedTensor& array : arrays) {
    if (is_input(array)) continue;
    if (others != nullptr && !names_none && !is_misspelt(array.name, inputs, out)) {
      others->push_back(array.name);
      continue;
    }
    throw bad_input("{}: the model has no input '{}'{}; its inputs are {}", printable(file), printable(array.name),
                    did_you_mean(array.name, std::span<const std::string>(inputs)), printable(join(inputs, ", ")))
        .about("inputs");
  }
  return out;
}

std::vector<Tensor> make_inputs(const graph::Graph& graph, const std::map<std::string, Tensor>& given,
                                std::uint64_t seed) {
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    const auto array = given.find(value.name);
    inputs.push_back(array == given.end() ? random_input(graph, id, seed) : fitted(value, array->second));
  }
  return inputs;
}

}  // namespace attn::run
