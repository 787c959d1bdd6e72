// Keras 3 (keras/src/saving/saving_lib.py) names a weight by its position in the model: layers/dense/vars/0. Earlier
// versions (keras/src/legacy/saving/legacy_h5_format.py) have one group for each layer, and the attributes layer_names
// and weight_names define the order. A list that exceeds 64 KB is split into weight_names0, weight_names1, ….
#include "keras_hdf5.h"

#include <optional>
#include <string_view>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::weights {
namespace {

using io::Hdf5File;
using io::Hdf5Object;

constexpr const char* kLayerNames = "layer_names";
constexpr const char* kWeightNames = "weight_names";
constexpr const char* kTopLevel = "top_level_model_weights";

std::string child(const std::string& group, const std::string& name) {
  return group.empty() ? name : group + "/" + name;
}

/// Returns the list in an attribute of a group, whole or split; empty if the group has none.
std::optional<std::vector<std::string>> name_list(const Hdf5Object& group, const std::string& attribute) {
  if (const auto whole = group.attributes.find(attribute); whole != group.attributes.end()) return whole->second.values;
  std::optional<std::vector<std::string>> names;
  for (int part = 0;; ++part) {
    const auto found = group.attributes.find(attribute + std::to_string(part));
    if (found == group.attributes.end()) return names;
    if (!names) names.emplace();
    names->insert(names->end(), found->second.values.begin(), found->second.values.end());
  }
}

/// Returns whether a dataset is the state of something other than a layer. Every compiled model, including nested ones,
/// has a group "optimizer"; a group of that name directly in "layers" is a layer.
bool is_other_state(std::string_view path) {
  const std::vector<std::string> parts = split(path, '/');
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const bool is_layer = i > 0 && parts[i - 1] == "layers";
    if (!is_layer && (parts[i] == "optimizer" || parts[i] == "metrics")) return true;
  }
  return is_generator_state(path);
}

Store flat_store(const Hdf5File& contents, const std::string& file) {
  Store store{file, Naming::store_path, {}, {}, {}};
  for (const auto& [path, object] : contents.objects)
    if (object.tensor) (is_other_state(path) ? store.state : store.weights).push_back({path, *object.tensor});
  return store;
}

void add_layer(const Hdf5File& contents, const std::string& root, const std::string& layer, Store& store) {
  const std::string group = child(root, layer);
  const auto found = contents.objects.find(group);
  const auto names = found == contents.objects.end() ? std::nullopt : name_list(found->second, kWeightNames);
  if (!names)
    throw bad_input("{}: layer '{}' has no list of its weights ({})", store.file, printable(layer), kWeightNames);
  for (const std::string& name : *names) {
    const auto weight = contents.objects.find(child(group, name));
    if (weight == contents.objects.end() || !weight->second.tensor) {
      throw bad_input("{}: layer '{}' lists the weight '{}', which is not there", store.file, printable(layer),
                      printable(name));
    }
    store.weights.push_back({name, *weight->second.tensor});
  }
  if (!names->empty()) store.layers.push_back({layer, static_cast<std::int64_t>(names->size())});
}

}  // namespace

bool is_generator_state(std::string_view path) {
  for (const std::string& part : split(path, '/'))
    if (part == "seed_generator" || part == "seed_generator_state") return true;
  return false;
}

Store keras_store(const Hdf5File& contents, const std::string& file) {
  for (const char* root : {"model_weights", ""}) {
    const auto group = contents.objects.find(root);
    if (group == contents.objects.end()) continue;
    const auto layers = name_list(group->second, kLayerNames);
    if (!layers) continue;
    Store store{file, Naming::layered, {}, {}, {}};
    for (const std::string& layer : *layers) add_layer(contents, root, layer, store);
    if (contents.objects.contains(child(root, kTopLevel))) add_layer(contents, root, kTopLevel, store);
    for (const auto& [path, object] : contents.objects)
      if (object.tensor && path.starts_with("optimizer_weights/")) store.state.push_back({path, *object.tensor});
    return store;
  }
  return flat_store(contents, file);
}

}  // namespace attn::weights
