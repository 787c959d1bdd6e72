// Where NaN and infinities came into a pass, as text.
#pragma once

#include <string>

#include "attn/report/json.h"
#include "attn/run/finite.h"

namespace attn::report {

/// Lines: where they came from, why, and how far they went; or that all is finite.
[[nodiscard]] std::string finite_text(const run::FiniteCheck& check);

/// The sentence on a check that found some.
[[nodiscard]] std::string finite_problem(const run::FiniteCheck& check);

/// A list: inputs, then layers in the order of execution.
[[nodiscard]] Json finite_json(const run::FiniteCheck& check);

}  // namespace attn::report
