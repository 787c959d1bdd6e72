// The constraints of a model's variables.
#pragma once

#include <optional>
#include <vector>

#include "attn/optimizers/settings.h"
#include "model/functional.h"

namespace attn::keras {

/// Returns the constraint of each variable in the order of model.weights. Throws Error (bad_input) for a custom
/// constraint.
[[nodiscard]] std::vector<std::optional<optimizers::Constraint>> constraints_of(Functional& model);

}  // namespace attn::keras
