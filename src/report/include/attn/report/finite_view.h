// The origin of NaN and infinities in a pass, as text.
#pragma once

#include <string>

#include "attn/report/json.h"
#include "attn/run/finite.h"

namespace attn::report {

/// Lines with their origin, the reason, and how far they spread; or the statement that all is finite.
[[nodiscard]] std::string finite_text(const run::FiniteCheck& check);

/// A sentence for a check that found some.
[[nodiscard]] std::string finite_problem(const run::FiniteCheck& check);

/// A list: inputs, then layers in execution order.
[[nodiscard]] Json finite_json(const run::FiniteCheck& check);

}  // namespace attn::report
