// Differences of configs, and of summaries.
#pragma once

#include <vector>

#include "attn/keras/comparison.h"
#include "config/json.h"

namespace attn::keras {

/// Differences between two models or layers as Keras saves them (Model::config).
[[nodiscard]] std::vector<ConfigDifference> compare_configs(const Json& a, const Json& b);
/// Differences between the layers that both have.
[[nodiscard]] std::vector<LayerDifference> compare_summaries(const Summary& a, const Summary& b);

}  // namespace attn::keras
