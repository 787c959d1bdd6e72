// What a view of costs is made of, for the terminal and for pages.
#pragma once

#include <string>
#include <vector>

#include "attn/report/costs.h"
#include "attn/report/table.h"

namespace attn::report {

struct CostLine {
  std::string what;  ///< "" goes on with the line before
  std::string text;
};

/// Is there a line for the row?
[[nodiscard]] bool is_shown(const CostRow& row, const CostOptions& options);
/// The variables of row `i`, with those of the rows inside it that are not shown.
[[nodiscard]] std::vector<VariableCost> variables_of(const std::vector<CostRow>& rows, std::size_t i,
                                                     const CostOptions& options);
/// "(None, 50, 512), (None, 4)"; "-" for none.
[[nodiscard]] std::string shapes_text(const std::vector<Shape>& shapes);

/// A line for each shown row and, where they are asked for, for each variable.
[[nodiscard]] Table costs_as_table(const CostReport& report, const CostOptions& options);
/// Parameters, weights, FLOPs, activations, scores, and the peak with its parts.
[[nodiscard]] std::vector<CostLine> costs_totals(const CostReport& report, const CostOptions& options);

}  // namespace attn::report
