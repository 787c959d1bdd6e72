// Applies a constraint to a weight. Private to the module.
#pragma once

#include "attn/base/tensor.h"
#include "attn/optimizers/settings.h"

namespace attn::optimizers {

/// Applies the constraint in place. The weight has a floating dtype.
void constrain(const Constraint& constraint, const Tensor& weight);

}  // namespace attn::optimizers
