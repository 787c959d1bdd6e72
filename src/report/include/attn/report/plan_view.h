// How a pass runs: its steps, and where their results lie in memory.
#pragma once

#include <string>

#include "attn/report/format.h"
#include "attn/report/plan_report.h"

namespace attn::report {

/// table: the steps, what passes did, and a picture of the arena, offsets across and steps down, of at most `columns`
/// cells; json ("attn.plan/1"); svg: the arena, light or dark as its reader prefers
[[nodiscard]] std::string render(Format format, const PlanReport& report, int columns);

}  // namespace attn::report
