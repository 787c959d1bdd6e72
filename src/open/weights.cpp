#include "attn/open/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/keras/families.h"
#include "attn/open/sentence_modules.h"
#include "attn/weights/bind.h"
#include "attn/weights/hugging_face.h"
#include "attn/weights/initialize.h"
#include "attn/weights/read_store.h"
#include "model_folder.h"

namespace attn::open {
namespace {

/// Prefixes the names of a backbone's own file, which names its weights relative to the backbone.
void put_into_task(weights::Store& store, const std::string& backbone_store) {
  if (backbone_store.empty()) return;
  const auto in_task = [&](const NamedTensor& weight) { return weight.name.starts_with(backbone_store); };
  if (store.naming != weights::Naming::store_path || std::any_of(store.weights.begin(), store.weights.end(), in_task))
    return;
  for (NamedTensor& weight : store.weights) weight.name.insert(0, backbone_store);
}

/// Adds the weights of dense layers that sentence-transformers keeps in folders of their own, by the folder's usual
/// name: "2_Dense.linear.weight".
void add_dense_weights(weights::Store& store, const std::string& folder) {
  constexpr std::size_t kFirst = 2;  // after the transformer and the pooling
  const auto modules = read_sentence_modules(folder);
  if (!modules || !modules->unsupported.empty()) return;
  for (std::size_t i = 0; i < modules->dense_folders.size(); ++i) {
    weights::Store own =
        weights::read_store(io::checked_file_in(folder, modules->dense_folders[i] + "/model.safetensors"));
    for (NamedTensor& array : own.weights) {
      array.name.insert(0, fmt::format("{}_Dense.", kFirst + i));
      store.weights.push_back(std::move(array));
    }
  }
}

weights::Store read_folder(const WantedWeights& wanted, const std::string& folder) {
  const auto file = weights_file_in(folder);
  if (!file && pickles_in(folder))
    throw bad_input(
        "{}: weights in Python pickles (pytorch_model.bin) are unsupported, because reading them runs code; save the "
        "model in Python with save_pretrained(folder), which writes model.safetensors",
        printable(folder));
  if (!file)
    throw bad_input(
        "{}: a folder without weights; expected model.weights.h5, model.weights.json, model.safetensors or "
        "model.safetensors.index.json",
        printable(folder));
  weights::Store store = weights::read_store(*file);
  store.file = printable(folder);
  if (store.naming != weights::Naming::store_path) {
    add_dense_weights(store, folder);
    return weights::from_hugging_face(wanted.specs, keras::weight_names(), wanted.backbone, wanted.unused, store);
  }
  put_into_task(store, wanted.backbone_store);
  if (wanted.backbone_store.empty()) return store;
  const std::optional<std::string> rest = task_weights_in(folder);
  if (!rest) return store;
  weights::Store of_task = weights::read_store(*rest);
  std::move(of_task.weights.begin(), of_task.weights.end(), std::back_inserter(store.weights));
  return store;
}

}  // namespace

WantedWeights wanted_weights(const keras::Model& model) {
  if (const auto task = model.task())
    return {model.weights(), task->backbone_class, task->backbone_store, task->unused_weights};
  return {model.weights(), model.class_name(), "", std::string(keras::kLogitsTable)};
}

weights::Store under_model_names(const WantedWeights& wanted, weights::Store store) {
  if (weights::is_hugging_face(store, keras::weight_names(), wanted.backbone, wanted.specs))
    return weights::from_hugging_face(wanted.specs, keras::weight_names(), wanted.backbone, wanted.unused, store);
  put_into_task(store, wanted.backbone_store);
  return store;
}

weights::Store read_weights(const WantedWeights& wanted, const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return read_folder(wanted, path);
  return under_model_names(wanted, weights::read_store(path));
}

std::vector<Tensor> load_weights(const WantedWeights& wanted, const std::string& path) {
  return weights::bind(wanted.specs, read_weights(wanted, path));
}

std::vector<Tensor> draw_weights(std::span<const graph::WeightSpec> specs, std::uint64_t seed, int threads,
                                 const std::function<void(const Tensor&)>& drawn) {
  std::vector<Tensor> tensors;
  tensors.reserve(specs.size());
  for (const graph::WeightSpec& spec : specs) {
    throw_if_stopped();
    tensors.push_back(weights::initialize(spec, seed, threads));
    if (drawn) drawn(tensors.back());
  }
  return tensors;
}

}  // namespace attn::open
