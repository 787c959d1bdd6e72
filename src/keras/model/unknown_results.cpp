#include "model/unknown_results.h"

#include <algorithm>

namespace attn::keras {
namespace {

/// Returns the dimensions as a shape; empty if they are not plausible.
std::optional<Shape> as_shape(const Json& json) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 31;
  if (!json.is_array() || json.empty() || json.size() > kMostDimensions) return std::nullopt;
  Shape out;
  for (const Json& size : json) {
    const bool known = size.is_number_integer() && size >= 0 && size <= kLargest;
    if (!known && !size.is_null()) return std::nullopt;
    out.push_back(known ? size.get<std::int64_t>() : kUnknown);
  }
  return out;
}

}  // namespace

void UnknownResults::add(const Arg& read, const Json& shape) {
  if (const auto* ref = read.as<TensorRef>()) {
    if (const auto known = as_shape(shape)) shapes_.emplace(std::tuple(ref->layer, ref->node, ref->tensor), *known);
  } else if (const auto* list = read.as<ArgList>(); list != nullptr && shape.is_array()) {
    for (std::size_t i = 0; i < list->size() && i < shape.size(); ++i) add((*list)[i], shape[i]);
  }
}

void UnknownResults::learn(const Layer& reader) {
  const auto build = reader.envelope.find("build_config");
  if (build == reader.envelope.end() || !build->is_object() || reader.nodes.empty()) return;
  const NodeSpec& call = reader.nodes.front();
  const ArgList& args = *call.args.as<ArgList>();
  if (const auto shape = build->find("input_shape"); shape != build->end() && !args.empty()) add(args.front(), *shape);
  const auto shapes = build->find("shapes_dict");
  if (shapes == build->end() || !shapes->is_object()) return;
  // Arguments are matched by name; for a class with unknown argument names, by position.
  std::size_t position = 0;
  const auto names = reader.arguments();
  for (const auto& [key, shape] : shapes->items()) {
    const std::string name = key.ends_with("_shape") ? key.substr(0, key.size() - 6) : key;
    const ArgDict& kwargs = *call.kwargs.as<ArgDict>();
    const auto named = std::find_if(kwargs.begin(), kwargs.end(), [&](const auto& item) { return item.first == name; });
    const auto known = std::find(names.begin(), names.end(), name);
    const auto index = known == names.end() ? position : static_cast<std::size_t>(known - names.begin());
    if (named != kwargs.end()) {
      add(named->second, shape);
    } else if (index < args.size()) {
      add(args[index], shape);
      ++position;
    }
  }
}

std::optional<Shape> UnknownResults::shape_of(const TensorRef& result) const {
  const auto found = shapes_.find({result.layer, result.node, result.tensor});
  return found == shapes_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace attn::keras
