// The lines of a cost table, for terminals and pages.
#pragma once

#include <string>
#include <vector>

#include "attn/report/costs.h"
#include "attn/report/table.h"

namespace attn::report {

struct CostLine {
  std::string what;  ///< the subject; "" continues the line before
  std::string text;
};

/// Returns the beginning of a nested row, which shows its level: "· └ " at level 2.
[[nodiscard]] std::string indent(int level);
/// Returns whether the row is displayed.
[[nodiscard]] bool is_shown(const CostRow& row, const CostOptions& options);
/// Returns the variables of row `i`, including those of hidden rows inside it.
[[nodiscard]] std::vector<VariableCost> variables_of(const std::vector<CostRow>& rows, std::size_t i,
                                                     const CostOptions& options);
/// Returns shapes as text: "(None, 50, 512), (None, 4)"; "-" if there are none.
[[nodiscard]] std::string shapes_text(const std::vector<Shape>& shapes);

/// Returns a line for each displayed row and, if requested, for each variable.
[[nodiscard]] Table costs_as_table(const CostReport& report, const CostOptions& options);
/// Returns the totals of parameters, weights, FLOPs, activations and scores, and the peak with its parts.
[[nodiscard]] std::vector<CostLine> costs_totals(const CostReport& report, const CostOptions& options);

}  // namespace attn::report
