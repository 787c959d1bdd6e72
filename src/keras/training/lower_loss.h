// Lowers a model and its loss to one graph.
#pragma once

#include "attn/keras/loss_graph.h"
#include "attn/keras/options.h"
#include "model/functional.h"

namespace attn::keras {

/// Throws Error (bad_input).
[[nodiscard]] LossGraph lower_loss(Functional& model, const LowerOptions& options, const LossOptions& loss);

}  // namespace attn::keras
