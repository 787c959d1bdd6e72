// Where two models differ, as a value.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  std::vector<LayerDifference> layers;  ///< differences of layers that both have
  std::optional<Summary> a, b;          ///< nothing where a model, or single layer, was never built

  [[nodiscard]] bool equal() const { return config.empty() && layers.empty(); }
};

}  // namespace attn::keras
