// A run as text.
#pragma once

#include <string>

#include "attn/report/format.h"
#include "attn/report/json.h"
#include "attn/report/values.h"

namespace attn::report {

/// table: the setting, the outputs, the comparison where there was one, the times. json: "attn.run/1"; times are in
/// milliseconds; NaN and infinities are null, and `non_finite` of an output counts them. The list "non_finite" says
/// where they came from, where that was looked for. An output of strings has them all.
[[nodiscard]] std::string render(Format format, const RunReport& report);

/// The comparison alone, one line per output: what agrees, or where it differs most.
[[nodiscard]] std::string compare_text(const CompareReport& compare);

/// The same as members: file, rtol, atol, pass, outputs.
[[nodiscard]] Json compare_json(const CompareReport& compare);

}  // namespace attn::report
