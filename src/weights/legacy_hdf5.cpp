// The layout of keras/src/legacy/saving/legacy_h5_format.py. Keras matches layers by order instead of by name; those
// without weights can be omitted.
#include "legacy_hdf5.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attn/weights/file_names.h"
#include "attn/weights/keras_version.h"

namespace attn::weights {
namespace {

using graph::WeightSpec;

/// An attribute is limited to 64 KB, and a string takes 16 bytes; longer lists are split into name0, name1, ….
constexpr std::size_t kMostInList = 2000;

void add_list(io::Hdf5Object& group, const std::string& name, const std::vector<std::string>& values) {
  if (values.size() <= kMostInList) {
    group.attributes[name] = {values, true};
    return;
  }
  for (std::size_t first = 0, part = 0; first < values.size(); first += kMostInList, ++part) {
    const std::size_t last = std::min(values.size(), first + kMostInList);
    group.attributes[name + std::to_string(part)] = {
        {values.begin() + static_cast<std::ptrdiff_t>(first), values.begin() + static_cast<std::ptrdiff_t>(last)},
        true};
  }
}

/// The weights of one layer of the model, as indices of specs.
struct Layer {
  std::string place;  // the first two parts of its weights' store paths: "layers/dense"
  std::vector<std::size_t> weights;
};

std::string place_of(const WeightSpec& spec) {
  const std::size_t slash = spec.store_path.find('/');
  return spec.store_path.substr(0, spec.store_path.find('/', slash == std::string::npos ? slash : slash + 1));
}

std::vector<Layer> layers_of(std::span<const WeightSpec> specs) {
  std::vector<Layer> out;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::string place = place_of(specs[i]);
    const auto [found, is_new] = known.emplace(place, out.size());
    if (is_new) out.push_back({place, {}});
    out[found->second].weights.push_back(i);
  }
  for (Layer& layer : out)
    std::stable_partition(layer.weights.begin(), layer.weights.end(),
                          [&](std::size_t i) { return listed_first(specs[i]); });
  return out;
}

/// Returns the first part of the paths of the layer's weights if they share it, otherwise the last part of the layer's
/// place.
std::string name_of(const Layer& layer, std::span<const WeightSpec> specs) {
  const auto first_part = [&](std::size_t i) { return specs[i].path.substr(0, specs[i].path.find('/')); };
  const std::string name = first_part(layer.weights.front());
  const bool shared = std::all_of(layer.weights.begin(), layer.weights.end(),
                                  [&](std::size_t i) { return first_part(i) == name && specs[i].path != name; });
  return shared ? name : layer.place.substr(layer.place.rfind('/') + 1);
}

}  // namespace

bool listed_first(const WeightSpec& spec) { return spec.trainable || spec.in_frozen_layer; }

io::Hdf5File legacy_hdf5(std::span<const WeightSpec> specs, std::span<const Tensor> tensors) {
  const std::vector<std::string> names = file_names(specs);
  io::Hdf5File out;
  std::vector<std::string> layer_names;
  std::set<std::string> used;
  for (const Layer& layer : layers_of(specs)) {
    std::string name = name_of(layer, specs);
    for (int number = 1; !used.insert(name).second; ++number)
      name = name_of(layer, specs) + "_" + std::to_string(number);
    std::vector<std::string> weight_names;
    for (const std::size_t i : layer.weights) {
      weight_names.push_back(names[i]);
      // Keras does not support bfloat16 in this format.
      const bool half = tensors[i].dtype() == DType::bfloat16;
      out.objects[name + "/" + names[i]].tensor = half ? tensors[i].cast(DType::float32) : tensors[i];
    }
    add_list(out.objects[name], "weight_names", weight_names);
    layer_names.push_back(name);
  }
  io::Hdf5Object& root = out.objects[""];
  add_list(root, "layer_names", layer_names);
  root.attributes["backend"] = {{"tensorflow"}, false};
  root.attributes["keras_version"] = {{kKerasVersion}, false};
  return out;
}

}  // namespace attn::weights
