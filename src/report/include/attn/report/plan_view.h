// How a pass runs: its steps, and where their results lie in memory.
#pragma once

#include <string>

#include "attn/report/plan_report.h"

namespace attn::report {

/// The steps as a table, what passes did, and a picture of the arena, offsets across and steps down, of at most
/// `columns` cells.
[[nodiscard]] std::string plan_text(const PlanReport& report, int columns);

/// "attn.plan/1"
[[nodiscard]] std::string plan_json(const PlanReport& report);

/// The arena, offsets across and steps down, light or dark as its reader prefers.
[[nodiscard]] std::string plan_svg(const PlanReport& report);

}  // namespace attn::report
