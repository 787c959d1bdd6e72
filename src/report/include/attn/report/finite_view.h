// The origin of NaN and infinities in a pass, as text.
#pragma once

#include <string>

#include "attn/report/json.h"
#include "attn/run/finite.h"

namespace attn::report {

/// Returns lines with the origin of NaN and infinities, the reason, and the number of affected layers. If there are
/// none, the line states this.
[[nodiscard]] std::string finite_text(const run::FiniteCheck& check);

/// Returns a sentence about the NaN and infinities that a check found.
[[nodiscard]] std::string finite_problem(const run::FiniteCheck& check);

/// Returns a list: inputs, then layers in execution order.
[[nodiscard]] Json finite_json(const run::FiniteCheck& check);

}  // namespace attn::report
