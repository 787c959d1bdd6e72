#include "attn/train/trained_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/name_pattern.h"
#include "attn/base/text.h"
#include "attn/keras/json_text.h"

namespace attn::train {
namespace {

using Json = nlohmann::ordered_json;

/// Returns whether Keras makes a layer from the object. Other objects with a dtype are inputs or tensors between
/// layers.
bool is_layer(const Json& json) {
  return json.contains("class_name") && json["class_name"].is_string() && json["class_name"] != "InputLayer" &&
         json["class_name"] != "__keras_tensor__" && json.contains("config") && json["config"].is_object() &&
         json["config"].contains("dtype");
}

void set_policy(Json& json, const std::string& policy) {
  if (json.is_object() && is_layer(json)) {
    Json& dtype = json["config"]["dtype"];
    if (dtype.is_object() && dtype.value("class_name", Json()) != "DTypePolicy")
      throw bad_input("the layer '{}' is quantized, so its `dtype` cannot be changed",
                      printable(json["config"].value("name", "")));
    dtype = Json{{"module", "keras"},
                 {"class_name", "DTypePolicy"},
                 {"config", Json{{"name", policy}}},
                 {"registered_name", nullptr}};
  }
  if (json.is_array()) {
    for (Json& each : json) set_policy(each, policy);
  } else if (json.is_object()) {  // metrics have dtypes too, which do not change
    for (const auto& [key, each] : json.items())
      if (key != "compile_config") set_policy(each, policy);
  }
}

}  // namespace

std::string with_policy(const std::string& config, const std::string& policy) {
  Json json = keras::parse_json_text(config, "config.json");
  set_policy(json, policy);
  return keras::write_json_text(json);
}

bool has_policy(const std::string& config, const std::string& policy) {
  return with_policy(config, policy) == keras::write_json_text(keras::parse_json_text(config, "config.json"));
}

keras::LossGraph TrainedModel::lower(const keras::Model& model, const Batch& batch, bool training) const {
  keras::LowerOptions options;
  options.batch = batch.begin()->second.shape()[0];
  options.sequence_length = sequence_length;
  keras::LossOptions how;
  how.compile_config = compile_config;
  how.metrics = true;
  how.training = training;
  how.drops = training && drops;
  how.seed = seed;
  const std::vector<std::string> inputs = model.array_names();
  for (const auto& [name, tensor] : batch) {
    if (std::ranges::find(inputs, name) != inputs.end()) {
      options.input_shapes.emplace(name, tensor.shape());
    } else {
      how.arrays[name] = {tensor.dtype(), tensor.shape()};
    }
  }
  for (const std::string& name : inputs)
    if (!batch.contains(name)) throw bad_input("the data has no array for the input '{}'", printable(name));
  keras::LossGraph out = model.lower_loss(options, how);
  for (const keras::Target& target : out.targets)
    if (const std::string& name = out.graph.value(target.value).name; !batch.contains(name))
      throw bad_input("the data has no targets '{}'", printable(name));
  return out;
}

bool is_mixed_float16(const graph::Graph& graph) {
  const auto is_float16 = [](const auto& one) { return one.dtype == DType::float16; };
  return std::ranges::any_of(graph.values, is_float16) &&
         std::ranges::none_of(graph.weights,
                              [&](const graph::WeightSpec& spec) { return spec.trainable && is_float16(spec); });
}

std::vector<std::string> frozen_layers(const keras::Model& model, const std::vector<std::string>& frozen,
                                       const std::vector<std::string>& trained) {
  const std::vector<std::string> names = model.layer_names();
  for (const auto& [option, patterns] : {std::pair("`freeze`", &frozen), {"`train`", &trained}})
    for (const std::string& pattern : *patterns)
      if (std::ranges::none_of(names, [&](const std::string& name) { return matches(name, pattern); }))
        throw bad_usage("{} '{}': no layer matches; `attn summary` lists them", option, printable(pattern));
  const auto holds_others = [&](const std::string& name) {
    return std::ranges::any_of(names, [&](const std::string& other) { return other.starts_with(name + "/"); });
  };
  // If a nested model is trained, all its layers are.
  const auto is_trained = [&](const std::string& name) {
    for (std::size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1))
      if (matches_any(name.substr(0, end), trained)) return true;
    return matches_any(name, trained);
  };
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const bool others = !trained.empty() && !holds_others(name) && !is_trained(name);
    if (others || matches_any(name, frozen)) out.push_back(name);
  }
  return out;
}

}  // namespace attn::train
