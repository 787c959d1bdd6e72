#include "model_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/json_text.h"
#include "attn/io/unsupported_formats.h"
#include "attn/open/sentence_modules.h"
#include "attn/weights/read_store.h"
#include "tied_embedding.h"

namespace attn::open {
namespace {

namespace fs = std::filesystem;

/// The first file that exists has the weights.
constexpr std::array<std::string_view, 4> kWeightFiles{"model.weights.h5", "model.weights.json", "model.safetensors",
                                                       "model.safetensors.index.json"};

bool has(const std::string& folder, std::string_view name) {
  std::error_code error;
  return fs::exists(fs::path(folder) / name, error);
}

/// Returns the first file of the folder with this ending; "" if there is none.
std::string file_ending_in(const std::string& folder, std::string_view ending) {
  constexpr int kLooked = 10'000;
  std::error_code error;
  std::string first;
  int looked = 0;
  for (fs::directory_iterator it(folder, error), end; !error && it != end && looked < kLooked; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.ends_with(ending) && (first.empty() || name < first)) first = std::move(name);
    ++looked;
  }
  return first;
}

[[noreturn]] void refuse_without_config(const std::string& path) {
  for (const io::UnsupportedFormat& kind : io::unsupported_formats())
    if (!file_ending_in(path, kind.ending).empty()) throw bad_input("{}: {}", printable(path), kind.what);
  throw bad_input(
      "{}: a folder without config.json; expected a preset of KerasHub, a Hugging Face folder, or a model file (Keras "
      "JSON, .keras or .h5)",
      printable(path));
}

/// Rejects a config that is not a Keras layer's.
void check_config(const nlohmann::json& config, const std::string& place) {
  if (!config.is_object()) throw bad_input("{}: expected an object", place);
  if (config.contains("class_name") || config.contains("model_type")) return;
  if (config.contains("architecture"))
    throw bad_input(
        "{}: models of timm ('architecture') are unsupported; load it in Python with "
        "keras_hub.models.Backbone.from_preset and save it with save_to_preset",
        place);
  throw bad_input("{}: neither a model of KerasHub ('class_name') nor one of Hugging Face ('model_type')", place);
}

nlohmann::json json_in(const std::string& folder, std::string_view name) {
  const std::string path = folder + "/" + std::string(name);
  constexpr io::JsonLimits kLimits;
  const io::Bytes file = io::read_file_in(folder, std::string(name), static_cast<std::int64_t>(kLimits.bytes));
  return io::parse_json(file.text(), printable(path), kLimits);
}

std::optional<keras::Version> keras_version_in(const std::string& folder) {
  if (!has(folder, "metadata.json")) return std::nullopt;
  const nlohmann::json metadata = json_in(folder, "metadata.json");
  if (!metadata.is_object() || !metadata.contains("keras_version") || !metadata["keras_version"].is_string())
    return std::nullopt;
  return keras::version_of(metadata["keras_version"].get<std::string>());
}

}  // namespace

std::optional<std::string> weights_file_in(const std::string& folder) {
  for (const std::string_view name : kWeightFiles)
    if (has(folder, name)) return io::checked_file_in(folder, std::string(name));
  return std::nullopt;
}

std::optional<std::string> task_weights_in(const std::string& folder) {
  constexpr const char* kTaskWeights = "task.weights.h5";
  if (!has(folder, kTaskWeights)) return std::nullopt;
  return io::checked_file_in(folder, kTaskWeights);
}

bool pickles_in(const std::string& folder) {
  return !file_ending_in(folder, ".bin").empty() || !file_ending_in(folder, ".pt").empty();
}

std::optional<std::string> folder_with_weights(const std::string& config) {
  const fs::path path(config);
  if (path.filename() != "config.json" && path.filename() != "task.json") return std::nullopt;
  std::string folder = path.parent_path().empty() ? "." : path.parent_path().string();
  if (!weights_file_in(folder)) return std::nullopt;
  return folder;
}

ModelText read_model_folder(const std::string& path) {
  if (!has(path, "config.json")) refuse_without_config(path);
  const nlohmann::json config = json_in(path, "config.json");
  check_config(config, printable(path + "/config.json"));
  const bool is_task = config.contains("class_name") && has(path, "task.json");
  const std::string name = is_task ? "task.json" : "config.json";
  ModelText out{path + "/" + name, std::string(io::read_file_in(path, name).text()), {}, path};
  out.options.keras_version = keras_version_in(path);
  if (config.contains("model_type"))
    if (auto modules = read_sentence_modules(path); modules && modules->unsupported.empty())
      out.options.embedder = std::move(modules->settings);
  if (const auto weights = weights_file_in(path); weights && may_hide_tied_embedding(out.text))
    out.options.tie_word_embeddings = tied_embedding_in(weights::read_store(*weights));
  return out;
}

}  // namespace attn::open
