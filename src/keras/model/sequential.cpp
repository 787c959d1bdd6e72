#include "model/sequential.h"

#include <algorithm>
#include <array>

#include "attn/base/text.h"
#include "classes/call.h"
#include "classes/reading.h"
#include "model/input_layer.h"

namespace attn::keras {

void Sequential::config(Fields& f) {
  f("name", name);
  f("trainable", trainable);
  f("dtype", policy);
  if (!f.reading()) {
    Json layers = Json::array();
    for (Layer* layer : members_) layers.push_back(layer_json(*layer, f.version()));
    f.put("layers", std::move(layers));
    if (build_input_shape) f("build_input_shape", *build_input_shape);
    for (const auto& [key, value] : own_keys_.items()) f.put(key, value);
    return;
  }
  keep_own_keys(f, {"name", "trainable", "dtype", "layers", "build_input_shape"});
  const auto list = f.take("layers");
  if (!list) f.config().fail("the key 'layers' is missing");
  const Document& file = f.config().document();
  const std::size_t before = file.problem_count();
  for (const Ref& ref : list->elements()) {
    file.attempt([&] {
      LayerPtr layer = read_layer(ref, f.warnings());
      if (layer->name.empty()) ref.fail("a layer of a model needs a name");
      if (layer->is_operation()) ref.fail("a Sequential holds layers only");
      const bool first = ref.pointer().ends_with("/0");
      if (as_input(*layer) != nullptr && !first) ref.fail("only the first layer of a Sequential can be an InputLayer");
      // The layers before an invalid one can still be checked.
      if (file.problem_count() == before) add(std::move(layer));
    });
  }
  if (const auto shape = f.take("build_input_shape"); shape && !shape->is_null()) {
    // Keras does not build a chain with several inputs, or with an input that is not a plain tensor.
    if (shape->is_array() &&
        std::none_of(shape->json().begin(), shape->json().end(), [](const Json& d) { return d.is_structured(); }))
      build_input_shape = shape->shape();
  }
}

std::optional<DType> Sequential::input_dtype() const {
  if (has_input()) return (*as_input(*members_.front())).element_type();
  return policy.compute;
}

bool Sequential::has_input() const { return !members_.empty() && as_input(*members_.front()) != nullptr; }

void Sequential::finish_reading(const Document& of_file, std::size_t before) {
  const bool broken = of_file.problem_count() > before;
  // Keras leaves a single input layer unbuilt.
  const bool known = has_input() ? members_.size() > 1 : build_input_shape.has_value() && !(broken && members_.empty());
  if (known) {
    of_file.attempt([&] {
      build_chain(has_input() ? as_input(*members_.front())->batch_shape : *build_input_shape);
      build_symbolic();
    });
  }
  of_file.stop_after_problems(before);
}

void Sequential::build_chain(const Shape& input_shape) {
  if (!has_input()) {
    if (members_.empty()) fail("a Sequential without layers cannot be built");
    std::string input = "input_layer";
    while (index_.contains(input)) input += "_";
    const auto* first = as_input(*members_.front());
    const DType dtype = first == nullptr ? members_.front()->policy.compute : DType::float32;
    owned_.push_back(make_input(input, input_shape, name_of(dtype)));
    members_.insert(members_.begin(), owned_.back().get());
    index_.clear();
    for (std::size_t i = 0; i < members_.size(); ++i) index_.emplace(members_[i]->name, static_cast<int>(i));
  }
  for (std::size_t i = 1; i < members_.size(); ++i)
    members_[i]->nodes = {NodeSpec{ArgList{TensorRef{members_[i - 1]->name, 0, 0}}, ArgDict{}, members_[i]->pointer}};
  const auto as_output = [](const std::string& layer, int node) { return TensorRef{layer, node, 0}; };
  input_struct = as_output(members_.front()->name, 0);
  const Layer& last = *members_.back();
  // connect() counts the calls of functional members from 1 here, as in configs.
  output_struct = as_output(last.name, last.is_functional() ? 1 : 0);
  connect();
}

Arg Sequential::call(Call& call) {
  if (!connected) {
    Shape shape = call.shape(call.tensor("inputs"));
    shape[0] = kUnknown;
    build_chain(shape);
    build_symbolic();
  }
  return Functional::call(call);
}

std::vector<Layer*> Sequential::layers() const {
  std::vector<Layer*> out;
  for (std::size_t i = has_input() ? 1 : 0; i < members_.size(); ++i) out.push_back(members_[i]);
  return out;
}

namespace {

constexpr std::array kSequentialClasses = {ClassInfo{
    .name = "Sequential", .make = make_layer<Sequential>, .since = 300, .module = "keras", .role = Role::chain}};

}  // namespace

Family sequential_classes() { return kSequentialClasses; }

}  // namespace attn::keras
