#include "classes/call.h"

#include "attn/base/error.h"

namespace attn::keras {

graph::Builder& Call::builder() noexcept { return lowering_.builder(); }

bool Call::has(std::string_view name) const {
  const auto it = bound_.find(name);
  return it != bound_.end() && !it->second.is_none();
}

const Arg& Call::arg(std::string_view name) const {
  const auto it = bound_.find(name);
  if (it == bound_.end()) throw bad_input("the argument '{}' is missing", name);
  return it->second;
}

TensorPtr Call::tensor(std::string_view name) const {
  const Arg& value = arg(name);
  if (const auto* tensor = value.as<TensorPtr>()) return *tensor;
  // Keras replaces a list with one element by that element.
  if (const auto* list = value.as<ArgList>(); list != nullptr && list->size() == 1)
    if (const auto* tensor = list->front().as<TensorPtr>()) return *tensor;
  throw bad_input("the argument '{}' must be one tensor", name);
}

TensorPtr Call::optional_tensor(std::string_view name) const { return has(name) ? tensor(name) : nullptr; }

std::vector<TensorPtr> Call::tensors(std::string_view name) const {
  const Arg& value = arg(name);
  const auto* list = value.as<ArgList>();
  std::vector<TensorPtr> out;
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i)
    if (const auto* tensor = (*list)[i].as<TensorPtr>()) out.push_back(*tensor);
  if (list == nullptr || out.size() < list->size())
    throw bad_input("the argument '{}' must be a list of tensors", name);
  return out;
}

bool Call::flag(std::string_view name, bool missing) const {
  if (!has(name)) return missing;
  if (const auto* value = arg(name).as<bool>()) return *value;
  throw bad_input("the argument '{}' must be true or false", name);
}

Shape Call::shape(const TensorPtr& tensor) { return builder().shape(tensor->id); }

DType Call::compute_dtype() const { return layer_.policy.compute; }

graph::ValueId Call::raw_weight(int index) { return lowering_.weight(layer_, index); }

graph::ValueId Call::weight(int index) {
  const graph::ValueId raw = raw_weight(index);
  // Keras casts only float variables (keras.src.backend.common.variables).
  return is_floating(builder().dtype(raw)) ? builder().cast(raw, compute_dtype()) : raw;
}

}  // namespace attn::keras
