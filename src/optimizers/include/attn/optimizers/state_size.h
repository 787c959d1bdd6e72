// The size of an optimizer's state, without the state.
#pragma once

#include <vector>

#include "attn/base/size.h"
#include "attn/optimizers/settings.h"
#include "attn/optimizers/variable.h"

namespace attn::optimizers {

struct StateSize {
  UInt128 elements = 0, bytes = 0;
};

/// Returns the size of all variables that Keras's optimizer has for these variables once it is built.
[[nodiscard]] StateSize state_size(const Settings& settings, const std::vector<Variable>& variables);

}  // namespace attn::optimizers
