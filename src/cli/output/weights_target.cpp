#include "output/weights_target.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/keras/json_text.h"
#include "attn/open/model.h"
#include "attn/open/reopen.h"
#include "attn/train/low_rank.h"
#include "attn/weights/save.h"
#include "output/progress.h"

namespace attn::cli {
namespace {

std::string archive_config(const open::LoadedModel& loaded, const std::string& path, bool trained) {
  if (loaded.model.is_single_layer()) {
    throw bad_input("{}: a .keras archive contains a model, but '{}' is a single layer", printable(path), loaded.name);
  }
  keras::ConfigOptions options;
  options.inner_policies = true;
  options.assets = true;
  std::string config = loaded.model.config(options);
  if (trained) return config;
  nlohmann::ordered_json json = keras::parse_json_text(config, "config.json");
  json.erase("compile_config");
  return keras::write_json_text(json);
}

}  // namespace

void check_target(const std::string& path, const std::vector<std::string>& read, std::string_view others) {
  weights::check_save_path(path, others);
  for (const std::string& file : read) {
    std::error_code ignored;
    if (path == "-") continue;
    if (file == path || std::filesystem::equivalent(file, path, ignored))
      throw bad_usage("{}: cannot write to the input file; give the result another name", printable(path));
  }
}

report::SavedReport save_model_weights(const std::string& path, const open::LoadedModel& loaded,
                                       const std::vector<Tensor>& tensors, std::vector<NamedTensor> state,
                                       const Console& console) {
  const bool trained = std::any_of(state.begin(), state.end(),
                                   [](const NamedTensor& array) { return array.name.starts_with("optimizer/"); });
  weights::SavedModel model;
  if (weights::holds_config(path)) model.config = archive_config(loaded, path, trained);
  model.state = std::move(state);
  for (NamedTensor& array : loaded.model.kept_arrays()) model.state.push_back(std::move(array));
  const train::StoredWeights stored = train::stored_weights(loaded.model.weights(), tensors, loaded.model);
  const Progress progress = writing(console, path, stored.weights);
  model.check = open::reopens(path, stored.specs);
  weights::save(path, stored.specs, stored.weights, model);
  return saved_report(path, stored.weights);
}

report::SavedReport saved_report(const std::string& path, const std::vector<Tensor>& tensors) {
  report::SavedReport out;
  out.file = path;
  out.weights = static_cast<std::int64_t>(tensors.size());
  for (const Tensor& tensor : tensors) {
    out.elements += tensor.size();
    out.bytes += tensor.bytes();
  }
  return out;
}

}  // namespace attn::cli
