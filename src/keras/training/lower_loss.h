// Lowers a model and its loss to one graph.
#pragma once

#include "attn/keras/loss_graph.h"
#include "attn/keras/options.h"
#include "model/functional.h"

namespace attn::keras {

/// Returns the graph of the model and its loss. Throws Error (bad_input).
[[nodiscard]] LossGraph lower_loss(Functional& model, const LowerOptions& options, const LossOptions& loss);

}  // namespace attn::keras
