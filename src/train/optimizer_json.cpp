#include "optimizer_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "attn/base/error.h"
#include "attn/keras/optimizer.h"

namespace attn::train {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json object_of(const char* module, const std::string& class_name) {
  return Json{{"module", module}, {"class_name", class_name}, {"config", Json::object()}, {"registered_name", nullptr}};
}

Json& optimizer_in(Json& serialized) {
  if (serialized.is_string()) serialized = object_of("keras.optimizers", serialized.get<std::string>());
  const bool wraps = serialized.is_object() && serialized.value("class_name", Json()) == "LossScaleOptimizer" &&
                     serialized.contains("config") && serialized["config"].contains("inner_optimizer");
  return wraps ? optimizer_in(serialized["config"]["inner_optimizer"]) : serialized;
}

Json scaled(Json serialized, const LossScaling& scaling) {
  const auto has_config = [](const Json& json) { return json.contains("config") && json["config"].is_object(); };
  Json inner = optimizer_in(serialized);
  if (!has_config(inner)) return serialized;  // reading it reports the error
  inner["config"]["loss_scale_factor"] = scaling.kind == LossScaling::Kind::fixed ? Json(scaling.factor) : Json();
  if (scaling.kind != LossScaling::Kind::dynamic) return inner;
  const bool wraps = serialized.value("class_name", Json()) == "LossScaleOptimizer";
  Json wrapped = wraps ? serialized : object_of("keras.optimizers", "LossScaleOptimizer");
  wrapped["config"]["inner_optimizer"] = inner;
  return wrapped;
}

Json& optimizer_config(Json& compile_config) {
  Json& serialized = optimizer_in(compile_config["optimizer"]);
  if (!serialized.is_object() || (serialized.contains("config") && !serialized["config"].is_object()))
    throw bad_input("the optimizer of the compile_config is not an object as Keras writes it");
  if (!serialized.contains("config")) serialized["config"] = Json::object();
  return serialized["config"];
}

void name_class(Json& serialized) {
  if (!serialized.is_object() || !serialized.contains("class_name") || !serialized["class_name"].is_string()) return;
  if (serialized.contains("config") && serialized["config"].is_object() &&
      serialized["config"].contains("inner_optimizer"))
    name_class(serialized["config"]["inner_optimizer"]);
  if (const auto name = keras::optimizer_class(serialized["class_name"].get<std::string>()))
    serialized["class_name"] = *name;
}

}  // namespace attn::train
