// A model that is split over ranks, as text.
#pragma once

#include <optional>
#include <string>

#include "attn/report/format.h"
#include "attn/report/json.h"
#include "attn/report/parallel_report.h"

namespace attn::report {

/// Returns the extra time of the slowest rank relative to the mean: 0 if all are equal, empty if not measured.
[[nodiscard]] std::optional<double> imbalance(const ParallelReport& report);
[[nodiscard]] std::string parallel_text(const ParallelReport& report);
/// Returns the member "parallel" of the JSON of a run or benchmark.
[[nodiscard]] Json parallel_json(const ParallelReport& report);

/// table; json: "attn.parallel/1".
[[nodiscard]] std::string render(Format format, const ParallelPlanReport& report);

}  // namespace attn::report
