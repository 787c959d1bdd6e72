// Differences between configs, and between summaries.
#pragma once

#include <vector>

#include "attn/keras/comparison.h"
#include "config/json.h"

namespace attn::keras {

/// Compares two models or layers in Keras's serialization (Model::config).
[[nodiscard]] std::vector<ConfigDifference> compare_configs(const Json& a, const Json& b);
/// Compares the layers that both summaries have.
[[nodiscard]] std::vector<LayerDifference> compare_summaries(const Summary& a, const Summary& b);

}  // namespace attn::keras
