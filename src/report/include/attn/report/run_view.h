// A run as text.
#pragma once

#include <string>

#include "attn/report/values.h"

namespace attn::report {

/// The setting, a table of outputs, the comparison where there was one, the times.
[[nodiscard]] std::string run_text(const RunReport& report);

/// "attn.run/1". Times are in milliseconds; NaN and infinities are null, and `non_finite` of an output counts them. The
/// list "non_finite" says where they came from, where that was looked for.
[[nodiscard]] std::string run_json(const RunReport& report);

/// The comparison alone, one line per output: what agrees, or where it differs most.
[[nodiscard]] std::string compare_text(const CompareReport& compare);

}  // namespace attn::report
