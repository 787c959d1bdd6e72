// The differences between two models, as plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/keras/summary.h"

namespace attn::keras {

/// A difference in a key, or a whole layer, between configs in Keras's form (Model::config).
struct ConfigDifference {
  std::string layer;  ///< path of the layer as in model A, "block/dense"; empty outside of layers
  /// JSON pointers of the keys in models A and B, and the values as JSON; empty for the model that lacks the key. For a
  /// missing layer the value is its class.
  std::optional<std::string> pointer_a, pointer_b, a, b;
};

/// A difference in the summary of a layer.
struct LayerDifference {
  std::string layer, class_name;
  std::string what;  ///< the compared property: "output shape", "params"
  std::string a, b;
};

struct ModelComparison {
  std::vector<ConfigDifference> config;
  std::vector<LayerDifference> layers;  ///< differences between layers that both models have
  std::optional<Summary> a, b;          ///< empty if the model, or single layer, was never built

  [[nodiscard]] bool equal() const { return config.empty() && layers.empty(); }
};

}  // namespace attn::keras
