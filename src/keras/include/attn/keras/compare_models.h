// Compares two models: their configs, and the resulting layers.
#pragma once

#include "attn/keras/comparison.h"
#include "attn/keras/model.h"

namespace attn::keras {

/// Compares two models. Layers are paired by name; those without a counterpart are paired by class in order. Thus a
/// layer that Keras has renumbered counts as renamed, also in references to it. Defaults are filled in on both sides,
/// so that an omitted key equals its default.
[[nodiscard]] ModelComparison compare_models(const Model& a, const Model& b);

}  // namespace attn::keras
