// The variables of a model in Keras's order, under their full names.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "attn/graph/weight.h"
#include "classes/layer.h"

namespace attn::keras {

/// Visits a layer and all below it, each once.
void visit_layers(Layer& root, const std::function<void(Layer&)>& visit);

/// The same with what the places of a layer's variables in .weights.h5 begin with.
void visit_places(Layer& root, const std::function<void(Layer&, const std::string& store)>& visit);

/// A variable: the layer that declares it, its index there, what its two names begin with, and the other name in
/// .weights.h5 of what two layers hold.
struct Variable {
  const Layer& layer;
  int index = 0;
  const std::string& path;
  const std::string& store;
  std::string store_again;

  [[nodiscard]] const graph::WeightSpec& spec() const { return layer.weights[static_cast<std::size_t>(index)]; }
  /// The spec under its full names.
  [[nodiscard]] graph::WeightSpec named() const;
};

/// Visits all variables below a layer in the order of model.weights.
void visit_variables(Layer& root, const std::function<void(const Variable&)>& visit);

/// Sequential.from_config leaves the flag of a frozen Sequential behind; its layers keep theirs.
[[nodiscard]] bool is_trainable(const Layer& layer);

/// The fewest positions that a layer of the model has learned a vector for; nothing where none learns any.
[[nodiscard]] std::optional<std::int64_t> most_positions(Layer& root);

/// All variables in the order of model.weights.
[[nodiscard]] std::vector<graph::WeightSpec> variables_of(Layer& root);

}  // namespace attn::keras
