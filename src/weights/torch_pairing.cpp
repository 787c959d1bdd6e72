#include "torch_pairing.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace attn::weights {
namespace {

using graph::WeightSpec;
using Kind = ModuleKind;
using Place = ModulePlace;
using Indices = std::vector<std::size_t>;

constexpr std::array kKinds = {Kind::attention, Kind::dense, Kind::norm, Kind::embedding};

/// Returns "blocks.#.attn" for "blocks.12.attn".
std::string without_numbers(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && out.ends_with('#')) continue;
    out += digit ? '#' : c;
  }
  return out;
}

/// Matches the modules of a state dict with the layers of a model.
class Pairing {
 public:
  Pairing(const std::vector<TorchModule>& torch, const std::vector<KerasModule>& keras,
          std::span<const WeightSpec> specs)
      : torch_(torch), keras_(keras), specs_(specs), layer_of_(torch.size()), taken_(keras.size()) {
    pair_names();
    pair_attention();
    pair_dense();
    pair_norms();
    pair_embeddings();
    for (const Kind kind : kKinds) pair_rest(kind);
  }

  /// Returns the layer of each module, if it has one.
  [[nodiscard]] const std::vector<std::optional<std::size_t>>& layers() const noexcept { return layer_of_; }

 private:
  void pair(std::size_t module, std::size_t layer) {
    layer_of_[module] = layer;
    taken_[layer] = true;
  }

  template <typename Accept>
  [[nodiscard]] Indices free_modules(Kind kind, Accept&& accept) const {
    Indices out;
    for (std::size_t i = 0; i < torch_.size(); ++i)
      if (!layer_of_[i] && torch_[i].kind == kind && accept(torch_[i])) out.push_back(i);
    return out;
  }
  [[nodiscard]] Indices free_modules(Kind kind) const {
    return free_modules(kind, [](const TorchModule& module) { return module.place != Place::other; });
  }
  [[nodiscard]] Indices free_layers(Kind kind) const {
    Indices out;
    for (std::size_t i = 0; i < keras_.size(); ++i)
      if (!taken_[i] && keras_[i].kind == kind) out.push_back(i);
    return out;
  }

  /// Matches modules by the layer's name: "head" and "head", "pre.proj" and "pre/proj" or "pre_proj".
  void pair_names() {
    for (const Kind kind : kKinds) {
      for (const std::size_t module : free_modules(kind, [](const auto& m) { return m.place == Place::other; })) {
        for (const std::size_t layer : free_layers(kind)) {
          std::string path = torch_[module].name;
          std::replace(path.begin(), path.end(), '.', '/');
          std::string word = torch_[module].name;
          std::replace(word.begin(), word.end(), '.', '_');
          if (keras_[layer].name != path && keras_[layer].name != word) continue;
          pair(module, layer);
          break;
        }
      }
    }
  }

  void pair_in_order(const Indices& modules, const Indices& layers) {
    for (std::size_t i = 0; i < std::min(modules.size(), layers.size()); ++i) pair(modules[i], layers[i]);
  }

  void pair_attention() {
    const Indices modules = free_modules(Kind::attention);
    if (!modules.empty()) pair_in_order(modules, free_layers(Kind::attention));
  }

  /// The dense layers of a block are the first ones after its attention. If another block follows, there are no further
  /// ones.
  void pair_dense() {
    for (std::size_t module = 0; module < torch_.size(); ++module) {
      if (torch_[module].kind != Kind::attention || torch_[module].place != Place::block || !layer_of_[module])
        continue;
      const Indices mine = free_modules(Kind::dense, [&](const TorchModule& other) {
        return other.place == Place::block && other.block == torch_[module].block;
      });
      Indices layers;
      std::size_t layer = *layer_of_[module] + 1;
      for (; layer < keras_.size() && keras_[layer].kind != Kind::attention; ++layer)
        if (!taken_[layer] && keras_[layer].kind == Kind::dense) layers.push_back(layer);
      const bool last = layer == keras_.size();
      if (layers.size() == mine.size() || (last && layers.size() > mine.size())) pair_in_order(mine, layers);
    }
  }

  void pair_norms() {
    const Indices modules = free_modules(Kind::norm);
    const Indices layers = free_layers(Kind::norm);
    if (modules.size() == layers.size()) pair_in_order(modules, layers);
  }

  /// Matches embeddings by their role. Layers for positions and segments have it in their names; others are for words.
  void pair_embeddings() {
    const auto role_of = [](const std::string& name) -> std::string {
      if (name.find("position") != std::string::npos) return "position";
      if (name.find("segment") != std::string::npos || name.find("type") != std::string::npos) return "segment";
      return "word";
    };
    for (const std::size_t module : free_modules(Kind::embedding, [](const auto& m) { return !m.role.empty(); })) {
      Indices fitting;
      for (const std::size_t layer : free_layers(Kind::embedding))
        if (role_of(keras_[layer].name) == torch_[module].role) fitting.push_back(layer);
      if (fitting.size() == 1) pair(module, fitting.front());
    }
  }

  /// Returns whether the parts of a module have the sizes of the layer's parts.
  [[nodiscard]] bool fits(const TorchModule& module, const KerasModule& layer) const {
    if (module.parts.size() != layer.parts.size()) return false;
    return std::all_of(module.parts.begin(), module.parts.end(), [&](const auto& part) {
      const auto found = layer.parts.find(part.first);
      return found != layer.parts.end() && part.second.tensor.shape() == torch_shape(part.first, specs_[found->second]);
    });
  }

  /// Matches the rest: modules with numbered names by their order, and others if their shapes are unique.
  void pair_rest(Kind kind) {
    Indices modules = free_modules(kind, [](const auto& m) { return m.place == Place::other; });
    const Indices layers = free_layers(kind);
    if (modules.size() > layers.size()) return;  // some modules have no layer in any case
    std::set<std::string> patterns;
    for (const std::size_t module : modules) patterns.insert(without_numbers(torch_[module].name));
    if (patterns.size() == 1 && modules.size() == layers.size()) {
      std::stable_sort(modules.begin(), modules.end(), [&](std::size_t a, std::size_t b) {
        // If names differ in a number, the longer one has the larger number.
        return std::pair(torch_[a].name.size(), torch_[a].name) < std::pair(torch_[b].name.size(), torch_[b].name);
      });
      pair_in_order(modules, layers);
      return;
    }
    for (const std::size_t module : modules) {
      const auto alike = [&](std::size_t layer) { return fits(torch_[module], keras_[layer]); };
      const auto found = std::find_if(layers.begin(), layers.end(), alike);
      if (found == layers.end() || std::count_if(layers.begin(), layers.end(), alike) != 1) continue;
      const auto rivals = std::count_if(modules.begin(), modules.end(),
                                        [&](std::size_t other) { return fits(torch_[other], keras_[*found]); });
      if (rivals == 1) pair(module, *found);
    }
  }

  const std::vector<TorchModule>& torch_;
  const std::vector<KerasModule>& keras_;
  std::span<const WeightSpec> specs_;
  std::vector<std::optional<std::size_t>> layer_of_;
  std::vector<bool> taken_;
};

}  // namespace

std::vector<std::optional<std::size_t>> pair_modules(const std::vector<TorchModule>& torch,
                                                     const std::vector<KerasModule>& keras,
                                                     std::span<const WeightSpec> specs) {
  return Pairing(torch, keras, specs).layers();
}

Shape torch_shape(const std::string& part, const WeightSpec& spec) {
  const Shape& shape = spec.shape;
  if (part.ends_with("kernel")) {
    // Only the output projection (heads, size, …) has two input axes.
    const int inputs = part == "attention_output/kernel" ? 2 : 1;
    if (shape.rank() <= inputs) return shape;
    return {shape.slice(inputs, shape.rank()).size(), shape.slice(0, inputs).size()};
  }
  return part.ends_with("bias") ? Shape{shape.size()} : shape;
}

}  // namespace attn::weights
