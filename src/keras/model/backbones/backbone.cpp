#include "model/backbones/backbone.h"

#include <utility>

#include "attn/base/text.h"
#include "classes/composite.h"
#include "classes/reading.h"
#include "model/input_layer.h"

namespace attn::keras {

void Backbone::config(Fields& f) {
  f("name", name);
  f("trainable", trainable);
  f("dtype", policy);
  fields(f);
}

void Backbone::check(const Ref& config) {
  check_fields(config);
  if (name.empty()) name = snake_case(class_name());
  assemble();
  envelope["build_config"] = {{"input_shape", nullptr}};
  envelope["compile_config"] = Json::object();
}

void Backbone::build_symbolic() {
  Functional::build_symbolic();
  // Its constructor sets the flag when all is built, and so on every layer and variable below.
  if (!trainable) freeze(*this);
}

void Backbone::freeze(Layer& layer) {
  layer.trainable = false;
  for (graph::WeightSpec& weight : layer.weights) weight.trainable = false;
  for (const Sublayer& sublayer : layer.sublayers()) freeze(*sublayer.layer);
}

TensorRef Backbone::input(std::string_view called, const Shape& shape, DType dtype) {
  add(make_input(called, shape, name_of(dtype)));
  return {std::string(called), 0, 0};
}

Layer& Backbone::layer(std::string_view class_name, std::string_view called, Json arguments) {
  LayerPtr made = make_sublayer(*this, class_name, called, std::move(arguments));
  Layer& out = *made;
  add(std::move(made));
  return out;
}

TensorRef Backbone::call(Layer& layer, ArgList args, ArgDict kwargs) {
  layer.nodes.push_back({std::move(args), std::move(kwargs), layer.pointer});
  return {layer.name, static_cast<int>(layer.nodes.size()) - 1, 0};
}

TensorRef Backbone::call(std::string_view class_name, std::string_view called, Json arguments, ArgList args,
                         ArgDict kwargs) {
  return call(layer(class_name, called, std::move(arguments)), std::move(args), std::move(kwargs));
}

TensorRef Backbone::first_token(const TensorRef& x) {
  LayerPtr operation = make_operation("GetItem", Json::object());
  Layer& item = *operation;
  add(std::move(operation));
  return call(item, {x, ArgList{SliceArg{}, std::int64_t{0}, SliceArg{}}});
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
