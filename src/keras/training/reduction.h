// Reduces the values of all predictions to a loss (keras/src/losses/loss.py).
#pragma once

#include <optional>
#include <string>

#include "attn/graph/graph.h"

namespace attn::keras {

/// Reduces `values` with their weights and mask (bool) by "sum_over_batch_size", "mean", "sum",
/// "mean_with_sample_weight" or "none" (which keeps all values). Throws Error (bad_input) if the weights or the mask do
/// not have the shape of the values.
[[nodiscard]] graph::ValueId reduced(graph::Builder& b, graph::ValueId values, std::optional<graph::ValueId> weights,
                                     std::optional<graph::ValueId> mask, const std::string& reduction);

/// Returns the sum of all elements.
[[nodiscard]] graph::ValueId sum_of_all(graph::Builder& b, graph::ValueId x);

/// Reshapes weights, or a mask, to the shape of the values by adding or removing a last axis of size 1. `what` is the
/// subject of the message. Throws Error (bad_input) for other shapes: Keras would broadcast weights (B) of values (B,
/// B) along the wrong axis.
[[nodiscard]] graph::ValueId fitted_weights(graph::Builder& b, graph::ValueId weights, graph::ValueId values,
                                            const char* what);

/// Returns the sample weights, if any, set to 0 where the mask is false.
[[nodiscard]] graph::ValueId combined_weights(graph::Builder& b, graph::ValueId values,
                                              std::optional<graph::ValueId> weights, graph::ValueId mask);

}  // namespace attn::keras
