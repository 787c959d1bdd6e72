// Numbers in rows and columns with names, for tables and pictures.
#pragma once

#include <string>
#include <vector>

namespace attn::report {

/// NaN marks a cell without a number.
struct Grid {
  std::string title, rows_title;
  std::vector<std::string> rows, columns;
  std::vector<std::vector<double>> values;
  bool is_signed = true;  ///< colours diverge from 0; otherwise they grow from 0
  /// Text of each cell in tables and tooltips; empty: the number.
  std::vector<std::vector<std::string>> words{};

  /// Sets a cell, and adds its row and column if they are not there.
  void set(const std::string& row, const std::string& column, double value);
  /// Returns the largest magnitude of a cell.
  [[nodiscard]] double largest() const;
};

/// Returns the grid of a title, which is added if it is not there; its rows are layers.
[[nodiscard]] Grid& layers_grid(std::vector<Grid>& grids, const std::string& title, bool is_signed = true);

}  // namespace attn::report
