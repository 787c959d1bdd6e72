#include "quantization_mismatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace attn::weights {
namespace {

using graph::WeightSpec;

constexpr std::string_view kFloats = "floats", kFloat8 = "float8", kGptq = "GPTQ", kAwq = "AWQ";
constexpr std::size_t kFloat8Arrays = 7, kGptqArrays = 4;  // numbers of arrays of a layer, without the bias

std::string_view place_of(std::string_view name) { return name.substr(0, name.rfind('/') + 1); }

std::string_view name_of_spec(const Store& store, const WeightSpec& spec) {
  return store.naming == Naming::store_path && !spec.store_path.empty() ? spec.store_path : spec.path;
}

/// Returns the layer of the first weight that does not match; empty if all match.
std::optional<std::string_view> first_place(std::span<const WeightSpec> specs, const Store& store,
                                            const Agreement& agreement) {
  std::optional<std::size_t> first;
  for (const auto* list : {&agreement.missing, &agreement.wrong_shape, &agreement.wrong_dtype})
    if (!list->empty()) first = std::min(first.value_or(list->front()), list->front());
  if (first) return place_of(name_of_spec(store, specs[*first]));
  if (agreement.extra.empty()) return std::nullopt;
  return place_of(store.weights[agreement.extra.front()].name);
}

std::string integers(bool is_byte, bool grouped) {
  return fmt::format("{}{}", is_byte ? "int8" : "int4", grouped ? " in blocks" : "");
}

bool has(const std::vector<const WeightSpec*>& specs, std::string_view name) {
  return std::ranges::any_of(specs, [&](const WeightSpec* spec) { return spec->path.ends_with(name); });
}

std::string quantization_in_config(const std::vector<const WeightSpec*>& specs) {
  for (const WeightSpec* spec : specs) {
    if (spec->quantized) return integers(spec->quantized->bits == 8, spec->quantized->group > 0);
    if (spec->dtype == DType::uint8) return std::string(has(specs, "/awq_scales") ? kAwq : kGptq);
  }
  return std::string(has(specs, "_amax_history") ? kFloat8 : kFloats);
}

/// int8 has as many bytes as the float weight has elements, int4 half as many. A GPTQ or AWQ config does not have that
/// number, but for int8 by columns the number of scales is known.
std::string quantization_in_file(const std::vector<const Tensor*>& arrays,
                                 const std::vector<const WeightSpec*>& specs) {
  const std::size_t bias = has(specs, "/bias") ? 1 : 0;
  const auto holds = [&](DType dtype) {
    return std::ranges::any_of(arrays, [&](const Tensor* array) { return array->dtype() == dtype; });
  };
  if (holds(DType::uint8)) return std::string(arrays.size() > kGptqArrays + bias ? kAwq : kGptq);
  if (!holds(DType::int8)) return std::string(arrays.size() >= kFloat8Arrays + bias ? kFloat8 : kFloats);
  const auto bytes = std::ranges::find_if(arrays, [](const Tensor* array) { return array->dtype() == DType::int8; });
  // Zero points have the layout of scales.
  const bool grouped = std::ranges::any_of(arrays, [&](const Tensor* zero) {
    return zero->dtype() == DType::int8 && std::ranges::any_of(arrays, [&](const Tensor* scale) {
             return is_floating(scale->dtype()) && scale->shape() == zero->shape();
           });
  });
  std::int64_t floats = 0;  // elements of the config's weight
  bool is_calibrated = false;
  for (const WeightSpec* spec : specs) {
    const Shape& shape = spec->quantized ? spec->quantized->shape : spec->shape;
    if (shape.rank() > 1) floats = std::max(floats, shape.size());
    is_calibrated = is_calibrated || spec->dtype == DType::uint8;
  }
  if (!is_calibrated) return integers(floats == (*bytes)->size(), grouped);
  const bool has_scale_for_each = std::ranges::any_of(arrays, [&](const Tensor* scale) {
    return is_floating(scale->dtype()) && scale->shape().rank() > 0 && (*bytes)->shape().rank() > 0 &&
           scale->shape()[-1] == (*bytes)->shape()[-1];
  });
  return integers(has_scale_for_each, grouped);
}

}  // namespace

std::string quantization_mismatch(std::span<const WeightSpec> specs, const Store& store, const Agreement& agreement) {
  const std::optional<std::string_view> place = first_place(specs, store, agreement);
  if (!place) return "";
  std::vector<const WeightSpec*> of_model;
  std::vector<const Tensor*> of_file;
  for (const WeightSpec& spec : specs)
    if (place_of(name_of_spec(store, spec)) == place) of_model.push_back(&spec);
  for (const NamedTensor& array : store.weights)
    if (place_of(array.name) == place) of_file.push_back(&array.tensor);
  if (of_model.empty() || of_file.empty()) return "";
  const std::string said = quantization_in_config(of_model), held = quantization_in_file(of_file, of_model);
  if (said == held) return "";
  if (held == kFloats) return "; the config is quantized, but the file is not";
  if (said == kFloats) return "; the file is quantized, but the config is not";
  return "; the config has " + said + ", but the file has " + held;
}

}  // namespace attn::weights
