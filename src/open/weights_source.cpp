#include "attn/open/weights_source.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "attn/base/error.h"
#include "attn/io/file.h"
#include "attn/io/file_kind.h"
#include "attn/io/keras_archive.h"
#include "attn/io/tensor_file.h"
#include "attn/io/zip.h"
#include "attn/keras/json_text.h"
#include "attn/open/weights.h"
#include "attn/weights/agreement.h"
#include "attn/weights/read_store.h"

namespace attn::open {
namespace {

bool is_archive(const io::Bytes& file, const std::string& path) {
  return io::kind_of(file) == io::FileKind::zip && io::ZipReader(file, path).find("config.json") != nullptr;
}

/// Returns whether the config of an archive is not a Keras config: it cannot be parsed, or lacks class_name or config.
/// An unknown class in a config is not damage.
bool is_damaged(const io::Bytes& file, const std::string& path) {
  try {
    const auto config = keras::parse_json_text(io::parse_keras_archive(file, path).config, path);
    return !config.is_object() || !config.contains("class_name") || !config.contains("config");
  } catch (const Error&) {
    return true;
  }
}

/// Returns whether the path has the name of a config in a KerasHub preset or a Hugging Face folder.
bool is_config(const std::string& path) {
  const std::filesystem::path name = std::filesystem::path(path).filename();
  return name == "config.json" || name == "task.json";
}

}  // namespace

WeightsSource read_weights(const std::string& path, const LoadedModel* model, const Listener& listener) {
  const auto work = listener.begin("reading " + path);
  if (is_folder(path)) {
    WeightsSource out;
    if (model == nullptr) model = &out.model.emplace(load_model(path, ReadingOptions{}, listener));
    out.store = read_weights(wanted_weights(model->model), path);
    return out;
  }
  if (is_config(path)) {
    LoadedModel described = load_model(path, ReadingOptions{}, listener);
    if (described.weights) {  // the weights of the folder with this config
      WeightsSource out = read_weights(*described.weights, model != nullptr ? model : &described, listener);
      if (model == nullptr) out.model.emplace(std::move(described));
      return out;
    }
  }
  const io::Bytes file = io::read_file(path);
  if (io::kind_of(file) == io::FileKind::npy) {
    weights::Store store;
    store.file = path;
    store.weights = io::parse_tensors(file, path);
    return {std::move(store), std::nullopt};
  }
  WeightsSource out{weights::parse_store(file, path), std::nullopt};
  if (model != nullptr) out.store = under_model_names(wanted_weights(model->model), std::move(out.store));
  const bool layered = out.store.naming == weights::Naming::layered;
  if (model != nullptr || path == "-" || !(layered || is_archive(file, path))) return out;
  try {
    out.model = load_model(path, ReadingOptions{}, listener);
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input) throw;
    if (layered) {  // the older .h5 may hold weights only, and names them by their paths
      listener.note(error.what());
      return out;
    }
    if (is_damaged(file, path)) throw Error(error).about("model");
    out.unreadable = error;
  }
  return out;
}

void WeightsSource::warn(const Listener& listener) const {
  if (unreadable) listener.warn(fmt::format("{}; its weights keep the names in the file", unreadable->what()));
}

std::vector<NamedTensor> named_weights(const WeightsSource& source, const LoadedModel* model) {
  if (model == nullptr && source.model) model = &*source.model;
  return model == nullptr ? source.store.weights : weights::with_paths(model->model.weights(), source.store);
}

std::vector<NamedTensor> weights_by_place(const WeightsSource& source, const LoadedModel* model) {
  if (model == nullptr && source.model) model = &*source.model;
  return model == nullptr ? source.store.weights : weights::with_file_names(model->model.weights(), source.store);
}

}  // namespace attn::open
