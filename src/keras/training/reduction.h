// From one number for each prediction to a loss (keras/src/losses/loss.py).
#pragma once

#include <optional>
#include <string>

#include "attn/graph/graph.h"

namespace attn::keras {

/// `values` with their weights and their mask (bool), under the reduction "sum_over_batch_size", "mean", "sum",
/// "mean_with_sample_weight" or "none": then one for each, else one number. Throws Error (bad_input) where the weights
/// or the mask do not have the shape of the values.
[[nodiscard]] graph::ValueId reduced(graph::Builder& b, graph::ValueId values, std::optional<graph::ValueId> weights,
                                     std::optional<graph::ValueId> mask, const std::string& reduction);

/// Σ of all elements.
[[nodiscard]] graph::ValueId sum_of_all(graph::Builder& b, graph::ValueId x);

/// Weights, or a mask, under the shape of the values: a last axis of 1 may be too much or missing. `what` is the
/// subject of the sentence. Throws Error (bad_input): Keras would broadcast (B) weights of (B, B) values along the
/// wrong axis.
[[nodiscard]] graph::ValueId fitted_weights(graph::Builder& b, graph::ValueId weights, graph::ValueId values,
                                            const char* what);

/// Sample weights, if there are some, with 0 where the mask is false.
[[nodiscard]] graph::ValueId combined_weights(graph::Builder& b, graph::ValueId values,
                                              std::optional<graph::ValueId> weights, graph::ValueId mask);

}  // namespace attn::keras
