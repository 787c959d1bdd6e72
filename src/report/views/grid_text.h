// Grids and lists of their largest cells as text. Private to the views.
#pragma once

#include <string>
#include <vector>

#include "attn/report/grid.h"
#include "attn/report/table.h"

namespace attn::report {

/// Returns a number with its sign and two digits behind the point, more if the grid's largest is small.
[[nodiscard]] std::string cell_number(double value, double largest, bool is_signed);

/// Returns the grid as a table, or its ten largest cells if it has more than 16 columns.
[[nodiscard]] std::string grid_text(const Grid& grid);
/// Returns the texts of all grids, each with an empty line after it.
[[nodiscard]] std::string grids_text(const std::vector<Grid>& grids);

/// Returns the rows of all grids: title, row, column, value.
[[nodiscard]] Table grid_rows(const std::vector<Grid>& grids);

}  // namespace attn::report
