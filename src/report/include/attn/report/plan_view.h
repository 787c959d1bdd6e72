// The steps of a pass, and the memory layout of their results.
#pragma once

#include <string>

#include "attn/report/format.h"
#include "attn/report/plan_report.h"

namespace attn::report {

/// table: the steps, the changes by optimization, and a picture of the arena (offsets across, steps down) of at most
/// `columns` cells; json ("attn.plan/1"); svg: the arena, in the reader's light or dark theme
[[nodiscard]] std::string render(Format format, const PlanReport& report, int columns);

}  // namespace attn::report
