#include "layer.h"

#include <algorithm>
#include <array>

#include "attn/base/text.h"
#include "lowering.h"
#include "table.h"

namespace attn::keras {

void collect_tensors(const Arg& arg, std::vector<TensorPtr>& out) {
  if (const auto* tensor = arg.as<TensorPtr>()) {
    out.push_back(*tensor);
  } else if (const auto* list = arg.as<ArgList>()) {
    for (const Arg& item : *list) collect_tensors(item, out);
  } else if (const auto* dict = arg.as<ArgDict>()) {
    std::vector<const std::pair<std::string, Arg>*> sorted;
    for (const auto& item : *dict) sorted.push_back(&item);
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
    for (const auto* item : sorted) collect_tensors(item->second, out);
  }
}

std::vector<TensorPtr> tensors_of(const Arg& arg) {
  std::vector<TensorPtr> out;
  collect_tensors(arg, out);
  return out;
}

int Weights::add(std::string_view name, Shape shape, const graph::Initializer& initializer, bool trainable) {
  graph::WeightSpec spec;
  spec.path = path_ + std::string(name);
  spec.store_path = store_ + "vars/" + std::to_string(count_++);
  spec.shape = std::move(shape);
  spec.dtype = dtype_;
  spec.trainable = trainable && trainable_;
  spec.initializer = initializer;
  if (!spec.shape.known())
    throw bad_input("the weight {} would have the shape {}: its sizes must be known", spec.path, spec.shape.str());
  out_.push_back(std::move(spec));
  return static_cast<int>(out_.size()) - 1;
}

void Layer::config(Fields& f) {
  f("name", name);
  if (!is_operation()) {
    f("trainable", trainable);
    f("dtype", policy);
    if (!f.reading() && !activity_regularizer.is_null()) f.put("activity_regularizer", activity_regularizer);
  }
  fields(f);
}

std::span<const std::string_view> Layer::arguments() const {
  static constexpr std::array<std::string_view, 1> kInputs = {"inputs"};
  return kInputs;
}

std::string_view Layer::class_name() const { return row->shown.empty() ? row->class_name : row->shown; }

void Layer::fail(const std::string& message) const {
  const std::string text = fmt::format("{} '{}': {}", class_name(), printable(name), message);
  if (document != nullptr) throw document->error(pointer, false, text);
  throw bad_input("{}", text);
}

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
  // Keras unpacks a list of one.
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
  // Only float variables are cast, as in keras.src.backend.common.variables.
  return is_floating(builder().dtype(raw)) ? builder().cast(raw, compute_dtype()) : raw;
}

}  // namespace attn::keras
