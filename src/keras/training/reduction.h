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

}  // namespace attn::keras
