// The constraints of a model's variables.
#pragma once

#include <optional>
#include <vector>

#include "attn/optimizers/settings.h"
#include "model/functional.h"

namespace attn::keras {

/// The constraint of each variable in the order of model.weights. Throws Error (bad_input) for one that is not Keras's.
[[nodiscard]] std::vector<std::optional<optimizers::Constraint>> constraints_of(Functional& model);

}  // namespace attn::keras
