// Where two models differ: in their configs, and in what those make.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/keras/model.h"
#include "attn/keras/summary.h"

namespace attn::keras {

/// A key, or a whole layer, of the configs as Keras saves them (Model::config).
struct ConfigDifference {
  std::string layer;  ///< "block/dense", as A has it; empty outside of layers
  /// JSON pointers, and the values as JSON; nothing on the side that lacks it. Of a layer that one side lacks, its
  /// class.
  std::optional<std::string> pointer_a, pointer_b, a, b;
};

/// What a summary says of a layer.
struct LayerDifference {
  std::string layer, class_name;
  std::string what;  ///< "output shape", "params"
  std::string a, b;
};

struct ModelComparison {
  std::vector<ConfigDifference> config;
  std::vector<LayerDifference> layers;  ///< of layers that both have
  std::optional<Summary> a, b;          ///< nothing where a model, or single layer, was never built

  [[nodiscard]] bool equal() const { return config.empty() && layers.empty(); }
};

/// Layers are paired by name, then, of those whose name only one side has, the first of a class with the first, and so
/// on: a layer that Keras has numbered anew is the same layer under another name, also where others read it. Defaults
/// are filled in on both sides, so that a key that was left out differs from none.
[[nodiscard]] ModelComparison compare_models(const Model& a, const Model& b);

}  // namespace attn::keras
