// One step of a rule on one variable. Private to the module.
#pragma once

#include "attn/optimizers/settings.h"
#include "step.h"

namespace attn::optimizers {

/// Returns whether the rule treats each element independently, so that a variable can be updated in ranges.
[[nodiscard]] bool is_elementwise(const Rule& rule);

/// Updates the weights of a variable, or of a range of it if the rule is elementwise. Defined for float, double,
/// Float16 and BFloat16.
template <typename T>
void update(const Rule& rule, const Step<T>& step);

}  // namespace attn::optimizers
