#include "training_archive.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/file_kind.h"
#include "attn/io/keras_archive.h"
#include "attn/weights/read_store.h"
#include "attn/weights/save.h"

namespace attn::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

std::string text_of(const TrainingState& state) {
  Json json;
  json["version"] = kVersion;
  json["epoch"] = state.position.epoch;
  json["batch"] = state.position.batch;
  json["step"] = state.position.step;
  json["seed"] = state.seed;
  json["batch_size"] = state.batch_size;
  json["shuffle"] = state.shuffle;
  json["data"] = state.data;
  json["running"] = Json::object();
  for (const auto& [name, value] : state.position.running)
    json["running"][name] = {{"total", value.total}, {"count", value.count}, {"root", value.root}};
  json["draws"] = state.draws;
  return json.dump(1);
}

}  // namespace

std::string fingerprint(const std::map<std::string, Tensor>& arrays) {
  std::string out;
  for (const auto& [name, tensor] : arrays)
    out += fmt::format("{}{} {} {}", out.empty() ? "" : ", ", name, name_of(tensor.dtype()), tensor.shape().str());
  return out;
}

std::optional<TrainingState> read_training_state(const std::string& path) {
  const io::Bytes file = io::read_file(path);
  if (io::kind_of(file) != io::FileKind::zip) return std::nullopt;
  const std::string text = io::parse_keras_archive(file, path).training;
  if (text.empty()) return std::nullopt;
  try {
    const Json json = Json::parse(text);
    if (json.at("version") != kVersion) throw bad_input("{}: attn_state.json is of another version", printable(path));
    TrainingState out;
    out.position.epoch = json.at("epoch");
    out.position.batch = json.at("batch");
    out.position.step = json.at("step");
    out.seed = json.at("seed");
    out.batch_size = json.at("batch_size");
    out.shuffle = json.at("shuffle");
    out.data = json.at("data");
    for (const auto& [name, value] : json.at("running").items())
      out.position.running[name] = {value.at("total"), value.at("count"), value.at("root")};
    for (const auto& [layer, count] : json.at("draws").items()) out.draws[layer] = count;
    return out;
  } catch (const Json::exception&) {
    throw bad_input("{}: attn_state.json is damaged; go on without --resume", printable(path));
  }
}

std::vector<Tensor> read_optimizer_state(const std::string& path) {
  constexpr std::string_view kPlace = "optimizer/vars/";
  std::map<int, Tensor> by_number;  // HDF5 lists 10 before 2
  for (const NamedTensor& array : weights::read_store(path).state) {
    if (!array.name.starts_with(kPlace)) continue;
    int number = -1;
    const char* const end = array.name.data() + array.name.size();
    if (std::from_chars(array.name.data() + kPlace.size(), end, number).ptr == end) by_number[number] = array.tensor;
  }
  std::vector<Tensor> out;
  for (const auto& [number, tensor] : by_number) out.push_back(tensor);
  return out;
}

void write_training(const std::string& path, const LoadedModel& loaded, const std::string& compile_config,
                    train::Trainer& trainer, const TrainingState& state) {
  Json config = Json::parse(loaded.model.config({}));
  config["compile_config"] = Json::parse(compile_config);
  weights::SavedModel model;
  model.config = config.dump();
  model.training = text_of(state);
  const auto& variables = trainer.optimizer().state();
  for (std::size_t i = 0; i < variables.size(); ++i)
    model.state.push_back({fmt::format("optimizer/vars/{}", i), variables[i].tensor});
  if (const std::size_t first = trainer.optimizer().scale_variables(); first > 0)  // Keras keeps them twice
    for (std::size_t i = first; i < variables.size(); ++i)
      model.state.push_back({fmt::format("optimizer/inner_optimizer/vars/{}", i - first), variables[i].tensor});
  weights::save(path, trainer.specs(), trainer.weights(), model);
}

}  // namespace attn::cli
