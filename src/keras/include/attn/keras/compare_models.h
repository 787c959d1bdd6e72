// Where two models differ: in their configs, and in what those make.
#pragma once

#include "attn/keras/comparison.h"
#include "attn/keras/model.h"

namespace attn::keras {

/// Layers are paired by name, then, of those whose name only one side has, the first of a class with the first, and so
/// on: a layer that Keras has numbered anew is the same layer under another name, also where others read it. Defaults
/// are filled in on both sides, so that a key that was left out differs from none.
[[nodiscard]] ModelComparison compare_models(const Model& a, const Model& b);

}  // namespace attn::keras
