// The gradient rule of each operation: from the gradients of its outputs to those of its inputs. Private to the module.
#pragma once

#include "step.h"

namespace attn::gradients {

/// Throws Error (bad_input): the step's operation has no gradient.
[[noreturn]] void no_gradient(const Step& step);

#define ATTN_DECLARE(type, name) void differentiate(const graph::type& op, Step& step);
ATTN_MODEL_OPS(ATTN_DECLARE)
ATTN_TRAINING_OPS(ATTN_DECLARE)
#undef ATTN_DECLARE

// Caches and integers have no gradient, and a gradient has none of its own. Graphs are parallelized after
// differentiation.
#define ATTN_DEFINE(type, name) \
  inline void differentiate(const graph::type&, Step& step) { no_gradient(step); }
ATTN_CACHE_OPS(ATTN_DEFINE)
ATTN_QUANTIZED_OPS(ATTN_DEFINE)
ATTN_GRADIENT_OPS(ATTN_DEFINE)
ATTN_COLLECTIVE_OPS(ATTN_DEFINE)
#undef ATTN_DEFINE

}  // namespace attn::gradients
