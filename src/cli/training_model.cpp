#include "training_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "name_pattern.h"

namespace attn::cli {
namespace {

using Json = nlohmann::ordered_json;

bool is_json(const std::string& text) { return !text.empty() && (text[0] == '{' || text[0] == '[' || text[0] == '"'); }

/// JSON as it is, a name as a text.
Json as_json(const std::string& option, const std::string& text) {
  if (!is_json(text)) return text;
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) throw bad_usage("{}: not JSON, and no name", option);
  return json;
}

}  // namespace

std::string compile_config(const keras::Model& model, const CompileChanges& changes) {
  const std::optional<std::string> own = model.compile_config();
  if (!own && !changes.loss)
    throw bad_input("the model was never compiled: say --loss, and --optimizer where it is not to be rmsprop");
  Json config = own ? Json::parse(*own) : Json{{"optimizer", "rmsprop"}, {"loss", nullptr}};
  if (changes.optimizer) config["optimizer"] = as_json("--optimizer", *changes.optimizer);
  if (changes.loss) config["loss"] = as_json("--loss", *changes.loss);
  if (changes.learning_rate) {
    Json& told = config["optimizer"];
    if (told.is_string())
      told = Json{{"module", "keras.optimizers"},
                  {"class_name", told},
                  {"config", Json::object()},
                  {"registered_name", nullptr}};
    told["config"]["learning_rate"] = *changes.learning_rate;
  }
  return config.dump();
}

keras::LossGraph TrainedModel::lower(const keras::Model& model, const train::Batch& batch, bool training) const {
  keras::LowerOptions options;
  options.batch = batch.begin()->second.shape()[0];
  options.sequence_length = sequence_length;
  keras::LossOptions how;
  how.loss = loss;
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

bool uses_float16(const graph::Graph& graph) {
  return std::ranges::any_of(graph.values, [](const graph::Value& value) { return value.dtype == DType::float16; });
}

std::vector<std::string> frozen_layers(const keras::Model& model, const std::vector<std::string>& frozen,
                                       const std::vector<std::string>& trained) {
  const std::vector<std::string> names = model.layer_names();
  for (const auto& [option, patterns] : {std::pair("--freeze", &frozen), {"--train", &trained}})
    for (const std::string& pattern : *patterns)
      if (std::ranges::none_of(names, [&](const std::string& name) { return matches(name, pattern); }))
        throw bad_usage("{} '{}': no layer has such a name; `attn summary` lists them", option, printable(pattern));
  const auto holds_others = [&](const std::string& name) {
    return std::ranges::any_of(names, [&](const std::string& other) { return other.starts_with(name + "/"); });
  };
  // A model within the model that is trained is trained with all its layers.
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

}  // namespace attn::cli
