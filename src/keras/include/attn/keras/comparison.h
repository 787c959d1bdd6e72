// The differences between two models, as plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/keras/summary.h"

namespace attn::keras {

/// A difference in a key, or a whole layer, between configs in Keras's form (Model::config).
struct ConfigDifference {
  std::string layer;  ///< "block/dense", as in A; empty outside of layers
  /// JSON pointers, and values as JSON; empty on a side that lacks it. For a missing layer, its class.
  std::optional<std::string> pointer_a, pointer_b, a, b;
};

/// A difference in the summary of a layer.
struct LayerDifference {
  std::string layer, class_name;
  std::string what;  ///< "output shape", "params"
  std::string a, b;
};

struct ModelComparison {
  std::vector<ConfigDifference> config;
  std::vector<LayerDifference> layers;  ///< differences between layers that both have
  std::optional<Summary> a, b;          ///< empty if the model, or single layer, was never built

  [[nodiscard]] bool equal() const { return config.empty() && layers.empty(); }
};

}  // namespace attn::keras
