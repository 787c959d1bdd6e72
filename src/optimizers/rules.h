// One step of a rule on one variable. Private to the module.
#pragma once

#include "attn/optimizers/settings.h"
#include "step.h"

namespace attn::optimizers {

/// Does the rule treat each element by itself, so that a variable may be taken in parts?
[[nodiscard]] bool is_elementwise(const Rule& rule);

/// Moves the weights of a variable, or of a part of it where the rule is elementwise. Defined for float, double,
/// Float16 and BFloat16.
template <typename T>
void update(const Rule& rule, const Step<T>& step);

}  // namespace attn::optimizers
