// A plan as a picture.
#pragma once

#include <string>

#include "attn/report/plan_report.h"

namespace attn::report {

/// The arena, offsets across and steps down, light or dark as its reader prefers.
[[nodiscard]] std::string plan_svg(const PlanReport& report);

}  // namespace attn::report
