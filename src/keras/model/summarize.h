// The contents of model.summary().
#pragma once

#include "attn/keras/summary.h"
#include "model/functional.h"

namespace attn::keras {

[[nodiscard]] Summary summarize(Functional& model);
/// Returns the summary of a custom model class: a row for each attribute with weights.
[[nodiscard]] Summary summarize_custom(Layer& root);

}  // namespace attn::keras
