// The variables of a model in Keras's order, with their full names.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "attn/graph/weight.h"
#include "classes/layer.h"

namespace attn::keras {

/// Visits a layer and all layers below it once.
void visit_layers(Layer& root, const std::function<void(Layer&)>& visit);

/// Visits a layer and all layers below it once, and passes the prefix of each layer's variables in .weights.h5.
void visit_places(Layer& root, const std::function<void(Layer&, const std::string& store)>& visit);

/// A variable: the layer that declares it, its index in that layer, the prefixes of its two names, and its alternative
/// key in .weights.h5 if two layers hold it.
struct Variable {
  const Layer& layer;
  int index = 0;
  const std::string& path;
  const std::string& store;
  std::string store_again;

  [[nodiscard]] const graph::WeightSpec& spec() const { return layer.weights[static_cast<std::size_t>(index)]; }
  /// Returns the variable's spec with its full names.
  [[nodiscard]] graph::WeightSpec named() const;
};

/// Visits all variables below a layer in the order of model.weights.
void visit_variables(Layer& root, const std::function<void(const Variable&)>& visit);

/// Returns whether the layer's variables are trained. Sequential.from_config does not restore the flag of a frozen
/// Sequential; its layers keep theirs.
[[nodiscard]] bool is_trainable(const Layer& layer);

/// Returns the smallest number of trained positions in a layer of the model; empty if there is none.
[[nodiscard]] std::optional<std::int64_t> most_positions(Layer& root);

/// Returns all variables in the order of model.weights.
[[nodiscard]] std::vector<graph::WeightSpec> variables_of(Layer& root);

}  // namespace attn::keras
