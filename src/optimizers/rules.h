// What one step of a rule does to one variable. Private to the room.
#pragma once

#include <cstdint>

#include "attn/optimizers/settings.h"
#include "step.h"

namespace attn::optimizers {

/// Does the rule treat each element by itself, so that a variable may be taken in parts?
[[nodiscard]] bool is_elementwise(const Rule& rule);

/// Elements [begin, end) of a variable; all of them where the rule is not elementwise.
void update(const Rule& rule, const Step& step, std::int64_t begin, std::int64_t end);

/// A number to the power of t, of the number as float32: what Keras's bias corrections hold.
[[nodiscard]] double power_of_float(double base, double t);

}  // namespace attn::optimizers
