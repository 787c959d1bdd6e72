#include "model/assembled_model.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "attn/base/text.h"
#include "classes/class_table.h"
#include "classes/composite.h"
#include "classes/reading.h"
#include "model/input_layer.h"

namespace attn::keras {

void AssembledModel::check(const Ref& config) {
  check_fields(config);
  if (name.empty()) name = snake_case(class_name());
  assemble();
  envelope["build_config"] = {{"input_shape", nullptr}};
  envelope["compile_config"] = Json::object();
}

void AssembledModel::build_symbolic() {
  Functional::build_symbolic();
  // The constructor of Keras's class sets `trainable` once everything is built, so the flag applies to every layer and
  // variable inside.
  if (!trainable) freeze(*this);
}

std::vector<Layer::Sublayer> AssembledModel::sublayers() {
  std::vector<Sublayer> out = Functional::sublayers();
  std::map<const Layer*, std::size_t> made;
  for (std::size_t i = 0; i < members_.size(); ++i) made.emplace(members_[i], i);
  std::stable_sort(out.begin(), out.end(),
                   [&](const Sublayer& a, const Sublayer& b) { return made.at(a.layer) < made.at(b.layer); });
  return out;
}

void AssembledModel::freeze(Layer& layer) {
  layer.trainable = false;
  for (graph::WeightSpec& weight : layer.weights) weight.trainable = false;
  for (const Sublayer& sublayer : layer.sublayers()) freeze(*sublayer.layer);
}

TensorRef AssembledModel::input(std::string_view called, const Shape& shape, DType dtype) {
  add(make_input(called, shape, name_of(dtype)));
  return {std::string(called), 0, 0};
}

Layer& AssembledModel::layer(std::string_view class_name, std::string_view called, Json arguments) {
  LayerPtr made = make_sublayer(*this, class_name, called, std::move(arguments));
  Layer& out = *made;
  add(std::move(made));
  return out;
}

Layer& AssembledModel::chain(std::string_view called, const std::vector<ChainPart>& parts) {
  Json layers = Json::array();
  for (const auto& [class_name, arguments] : parts) {
    Json config = arguments;
    config["dtype"] = policy.source_name();
    layers.push_back({{"module", "keras.layers"}, {"class_name", class_name}, {"config", std::move(config)}});
  }
  return layer("Sequential", called, {{"layers", std::move(layers)}});
}

Layer& AssembledModel::inner(std::unique_ptr<AssembledModel> model, std::string_view class_name,
                             std::string_view called) {
  model->info = document->layers().find(class_name);
  model->name = called;
  model->document = document;
  model->pointer = pointer;
  model->policy = policy;
  model->assemble();
  model->connect();
  model->build_symbolic();
  Layer& out = *model;
  add(std::move(model));
  return out;
}

Layer& AssembledModel::extracted(Functional& whole, const ArgDict& results) {
  auto part = std::make_unique<Functional>();
  part->info = &class_in(functional_classes(), "Functional");
  part->name = "functional";
  part->document = document;
  part->pointer = pointer;
  ArgList inputs;
  for (const Layer* input : whole.input_layers()) inputs.emplace_back(TensorRef{input->name, 0, 0});
  part->input_struct = inputs.size() == 1 ? inputs.front() : Arg(inputs);
  part->output_struct = results;
  for (Layer* member : whole.members()) part->borrow(*member);
  part->connect();
  part->build_symbolic();
  Layer& out = *part;
  add(std::move(part));
  return out;
}

TensorRef AssembledModel::call(Layer& layer, ArgList args, ArgDict kwargs) {
  layer.nodes.push_back({std::move(args), std::move(kwargs), layer.pointer});
  return {layer.name, static_cast<int>(layer.nodes.size()) - 1, 0};
}

TensorRef AssembledModel::call(std::string_view class_name, std::string_view called, Json arguments, ArgList args,
                               ArgDict kwargs) {
  return call(layer(class_name, called, std::move(arguments)), std::move(args), std::move(kwargs));
}

// Keras counts the operations of a backbone too, because the backbone is created first.
bool AssembledModel::has_operation(std::string_view called) const {
  const auto has = [&](const Layer* member) {
    const auto* model = dynamic_cast<const AssembledModel*>(member);
    return model != nullptr && model->has_operation(called);
  };
  return find(called) != nullptr || std::any_of(members_.begin(), members_.end(), has);
}

TensorRef AssembledModel::operation(std::string_view class_name, Json parameters, ArgList args) {
  LayerPtr made = make_operation(class_name, std::move(parameters));
  Layer& out = *made;
  const std::string base = out.name;
  for (int earlier = 1; has_operation(out.name); ++earlier) out.name = fmt::format("{}_{}", base, earlier);
  add(std::move(made));
  return call(out, std::move(args));
}

TensorRef AssembledModel::first_token(const TensorRef& x) {
  return operation("GetItem", Json::object(), {x, ArgList{SliceArg{}, std::int64_t{0}, SliceArg{}}});
}

TensorRef AssembledModel::soft_capped(const TensorRef& x, double cap) {
  const TensorRef share = operation("TrueDivide", Json::object(), {x, cap});
  return operation("Multiply", Json::object(), {operation("Tanh", Json::object(), {share}), cap});
}

Json normal_initializer(std::string_view class_name, double stddev) {
  Json out = Initializer(class_name).json;
  out["config"]["stddev"] = stddev;
  return out;
}

Json gelu_approximate() {
  return {{"module", "builtins"},
          {"class_name", "function"},
          {"config", "keras_hub>gelu_approximate"},
          {"registered_name", "function"}};
}

}  // namespace attn::keras
