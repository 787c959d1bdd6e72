// A run, as text.
#pragma once

#include <string>

#include "attn/report/format.h"
#include "attn/report/json.h"
#include "attn/report/values.h"

namespace attn::report {

/// table: the setting, the outputs, the comparison if there is one, the times. json: "attn.run/1". Times are in
/// milliseconds. NaN and infinities are null, and an output's `non_finite` counts them. The list "non_finite" has their
/// origin, if it was searched for. A string output has all its strings.
[[nodiscard]] std::string render(Format format, const RunReport& report);

/// Returns only the comparison, one line for each output: what agrees, or the largest difference.
[[nodiscard]] std::string compare_text(const CompareReport& compare);

/// Returns the comparison as a JSON object with the members file, rtol, atol, pass and outputs.
[[nodiscard]] Json compare_json(const CompareReport& compare);

}  // namespace attn::report
