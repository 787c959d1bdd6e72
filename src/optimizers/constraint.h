// What a constraint makes of a weight. Private to the room.
#pragma once

#include "attn/base/tensor.h"
#include "attn/optimizers/settings.h"

namespace attn::optimizers {

/// In place; the weight is float32.
void constrain(const Constraint& constraint, const Tensor& weight);

}  // namespace attn::optimizers
