// What model.summary() shows.
#pragma once

#include "attn/keras/summary.h"
#include "model/functional.h"

namespace attn::keras {

[[nodiscard]] Summary summarize(Functional& model);
/// The summary of a model that is a class of somebody's own: a row for each attribute under which it keeps weights.
[[nodiscard]] Summary summarize_custom(Layer& root);

}  // namespace attn::keras
