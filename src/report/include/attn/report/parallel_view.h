// Several ranks that share a model, as text.
#pragma once

#include <optional>
#include <string>

#include "attn/report/format.h"
#include "attn/report/json.h"
#include "attn/report/parallel_report.h"

namespace attn::report {

/// How much longer the slowest rank computes than the mean: 0 where all are alike, nothing where nobody has measured
/// it.
[[nodiscard]] std::optional<double> imbalance(const ParallelReport& report);
[[nodiscard]] std::string parallel_text(const ParallelReport& report);
/// The member "parallel" of a run's or a measurement's document.
[[nodiscard]] Json parallel_json(const ParallelReport& report);

/// table; json: "attn.parallel/1".
[[nodiscard]] std::string render(Format format, const ParallelPlanReport& report);

}  // namespace attn::report
