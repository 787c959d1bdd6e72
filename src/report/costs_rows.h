// What a view of costs is made of, for the terminal and for pages.
#pragma once

#include <string>
#include <vector>

#include "attn/report/costs_view.h"
#include "attn/report/table.h"

namespace attn::report {

struct CostLine {
  std::string what;  ///< "" goes on with the line before
  std::string text;
};

[[nodiscard]] Table costs_as_table(const CostReport& report, const CostOptions& options);
/// Parameters, weights, FLOPs, activations, scores, and the peak with its parts.
[[nodiscard]] std::vector<CostLine> costs_totals(const CostReport& report, const CostOptions& options);

}  // namespace attn::report
