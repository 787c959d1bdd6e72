// A plan as an image.
#pragma once

#include <string>

#include "attn/report/plan_report.h"

namespace attn::report {

/// Returns the arena, offsets across and steps down, in the reader's light or dark theme.
[[nodiscard]] std::string plan_svg(const PlanReport& report);

}  // namespace attn::report
