#include "attn/train/archive.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/io/file_kind.h"
#include "attn/io/keras_archive.h"
#include "attn/io/sha256.h"
#include "attn/keras/json_text.h"
#include "attn/open/model.h"
#include "attn/open/reopen.h"
#include "attn/train/low_rank.h"
#include "attn/weights/read_store.h"
#include "attn/weights/save.h"

namespace attn::train {
namespace {

using Json = nlohmann::ordered_json;

/// Keras ignores groups of the optimizer that it does not know.
constexpr std::string_view kVariables = "optimizer/vars/", kBestWeights = "optimizer/attn/best_weights/",
                           kUnmerged = "optimizer/attn/unmerged/", kUnsaved = "optimizer/attn/unsaved/";

/// Returns arrays "<place>0", "<place>1", … in numeric order: HDF5 lists 10 before 2.
std::map<int, Tensor> by_number(const std::vector<NamedTensor>& arrays, std::string_view place) {
  std::map<int, Tensor> out;
  for (const NamedTensor& array : arrays) {
    if (!array.name.starts_with(place)) continue;
    int number = -1;
    const char* const end = array.name.data() + array.name.size();
    if (std::from_chars(array.name.data() + place.size(), end, number).ptr == end) out[number] = array.tensor;
  }
  return out;
}

std::vector<Tensor> numbered(const std::vector<NamedTensor>& arrays, std::string_view place) {
  std::vector<Tensor> out;
  for (const auto& [number, tensor] : by_number(arrays, place)) out.push_back(tensor);
  return out;
}

/// Returns a checksum of the whole array, or of blocks at equal distances.
std::string checksum(const Tensor& tensor) {
  constexpr std::int64_t kWhole = std::int64_t{1} << 24, kBlock = 1 << 12, kBlocks = 1024;
  const std::span<const std::byte> bytes(tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  constexpr std::size_t kShown = 16;
  if (tensor.bytes() <= kWhole) return io::sha256(bytes).substr(0, kShown);
  std::vector<std::byte> sample;
  for (std::int64_t i = 0; i < kBlocks; ++i) {
    const auto block = bytes.subspan(static_cast<std::size_t>((tensor.bytes() - kBlock) / (kBlocks - 1) * i), kBlock);
    sample.insert(sample.end(), block.begin(), block.end());
  }
  return io::sha256(sample).substr(0, kShown);
}

}  // namespace

std::map<std::string, std::string> fingerprints(const std::map<std::string, Tensor>& arrays) {
  std::map<std::string, std::string> out;
  for (const auto& [name, tensor] : arrays)
    out[name] = fmt::format("{} {} {}", name_of(tensor.dtype()), tensor.shape().str(), checksum(tensor));
  return out;
}

std::optional<State> read_state(const std::string& path) {
  const io::Bytes file = io::read_file(path);
  if (io::kind_of(file) != io::FileKind::zip) return std::nullopt;
  const std::string text = io::parse_keras_archive(file, path).training;
  if (text.empty()) return std::nullopt;
  State out = parse_state(text, fmt::format("{}: attn_state.json", printable(path)));
  const std::vector<NamedTensor> kept = weights::read_store(path).state;
  out.best_weights = numbered(kept, kBestWeights);
  out.unmerged = by_number(kept, kUnmerged);
  out.unsaved = numbered(kept, kUnsaved);
  return out;
}

std::vector<Tensor> read_optimizer_state(const std::string& path) {
  return numbered(weights::read_store(path).state, kVariables);
}

std::vector<Tensor> optimizer_state_of(const open::LoadedModel& loaded) {
  if (loaded.arrays) return numbered(loaded.arrays->state, kVariables);
  // Folders of KerasHub and Hugging Face have no optimizer.
  if (!loaded.weights || open::is_folder(*loaded.weights)) return {};
  return read_optimizer_state(*loaded.weights);
}

std::string trained_config(const open::LoadedModel& loaded, const std::string& compile_config,
                           const keras::ConfigOptions& how) {
  Json config = keras::parse_json_text(loaded.model.config(how), "config.json");
  config["compile_config"] = keras::parse_json_text(compile_config, "compile_config");
  return keras::write_json_text(config);
}

std::vector<NamedTensor> stored_variables(const std::vector<Tensor>& variables) {
  std::vector<NamedTensor> out;
  for (std::size_t i = 0; i < variables.size(); ++i) out.push_back({fmt::format("{}{}", kVariables, i), variables[i]});
  return out;
}

std::vector<NamedTensor> stored_variables(const std::vector<NamedTensor>& variables) {
  std::vector<Tensor> tensors;
  for (const NamedTensor& variable : variables) tensors.push_back(variable.tensor);
  return stored_variables(tensors);
}

void write_archive(const std::string& path, const open::LoadedModel& loaded, const std::string& compile_config,
                   Trainer& trainer, const std::vector<NamedTensor>& variables, const State& state) {
  keras::ConfigOptions whole;
  whole.assets = true;
  weights::SavedModel model;
  model.config = trained_config(loaded, compile_config, whole);
  model.training = text_of(state);
  model.state = loaded.model.kept_arrays();
  for (NamedTensor& variable : stored_variables(variables)) model.state.push_back(std::move(variable));
  if (const std::size_t first = trainer.optimizer().scale_variables(); first > 0)  // Keras saves them twice
    for (std::size_t i = first; i < variables.size(); ++i)
      model.state.push_back({fmt::format("optimizer/inner_optimizer/vars/{}", i - first), variables[i].tensor});
  const std::vector<Tensor> unsaved = trainer.optimizer().unsaved();
  for (std::size_t i = 0; i < unsaved.size(); ++i)
    model.state.push_back({fmt::format("{}{}", kUnsaved, i), unsaved[i]});
  for (std::size_t i = 0; i < state.best_weights.size(); ++i)
    model.state.push_back({fmt::format("{}{}", kBestWeights, i), state.best_weights[i]});
  const StoredWeights stored = stored_weights(trainer.specs(), trainer.weights(), loaded.model);
  for (const auto& [number, tensor] : stored.unmerged)
    model.state.push_back({fmt::format("{}{}", kUnmerged, number), tensor});
  const auto reopen = open::reopens(path, stored.specs);
  model.check = [&](const std::string& written) {
    reopen(written);
    if (!read_state(written)) throw internal_error("{}: the file has no training state", printable(path));
  };
  weights::save(path, stored.specs, stored.weights, model);
}

void require_disk(const std::string& path, Trainer& trainer, bool keeps_best_weights, std::int64_t copies) {
  std::int64_t weights = 0;
  for (const Tensor& weight : trainer.weights()) weights += weight.bytes();
  const std::int64_t each = weights * (keeps_best_weights ? 2 : 1) + trainer.optimizer_bytes();
  std::int64_t needed = std::numeric_limits<std::int64_t>::max();
  if (each == 0 || copies <= needed / each) needed = each * copies;
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  std::error_code failed;
  const std::filesystem::space_info space = std::filesystem::space(folder, failed);
  if (failed || space.available >= static_cast<std::uintmax_t>(needed)) return;
  throw bad_input("{}: the trained model needs {}{}, but the disk has {} left; free some space, or write elsewhere",
                  printable(path), memory_size(static_cast<UInt128>(needed)),
                  copies > 1 ? fmt::format(" in its {} checkpoints", copies) : "",
                  memory_size(static_cast<UInt128>(space.available)));
}

}  // namespace attn::train
