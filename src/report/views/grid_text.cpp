#include "grid_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "attn/base/text.h"
#include "attn/report/number.h"

namespace attn::report {
namespace {

constexpr std::size_t kMostGridColumns = 16;
constexpr std::size_t kShownGridCells = 10;

}  // namespace

std::string cell_number(double value, double largest, bool is_signed) {
  if (!std::isfinite(value)) return "-";
  int digits = 2;
  while (digits < 8 && largest > 0 && largest < std::pow(10.0, 1 - digits)) ++digits;
  return is_signed ? fmt::format("{:+.{}f}", value, digits) : fmt::format("{:.{}f}", value, digits);
}

std::string grid_text(const Grid& grid) {
  const double largest = grid.largest();
  const auto word = [&](std::size_t row, std::size_t column) {
    return grid.words.empty() ? cell_number(grid.values[row][column], largest, grid.is_signed)
                              : grid.words[row][column];
  };
  std::string out = grid.title + "\n\n";
  if (grid.columns.size() <= kMostGridColumns) {
    Table table{{{grid.rows_title}}, {}};
    for (const std::string& column : grid.columns) table.columns.push_back({column, Align::right});
    for (std::size_t row = 0; row < grid.rows.size(); ++row) {
      std::vector<std::string> cells = {grid.rows[row]};
      for (std::size_t column = 0; column < grid.columns.size(); ++column) cells.push_back(word(row, column));
      table.rows.push_back(std::move(cells));
    }
    return out + plain_table(table);
  }
  std::vector<std::tuple<double, std::size_t, std::size_t>> cells;
  for (std::size_t row = 0; row < grid.rows.size(); ++row)
    for (std::size_t column = 0; column < grid.columns.size(); ++column)
      if (std::isfinite(grid.values[row][column])) cells.emplace_back(-std::abs(grid.values[row][column]), row, column);
  const std::size_t count = std::min(cells.size(), kShownGridCells);
  std::partial_sort(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(count), cells.end());
  Table table{{{grid.rows_title}, {"Column"}, {"Value", Align::right}}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [size, row, column] = cells[i];
    table.rows.push_back({grid.rows[row], grid.columns[column], word(row, column)});
  }
  return out + plain_table(table) +
         fmt::format("the {} largest of {}; -o has all of them\n", count, with_commas(std::ssize(cells)));
}

std::string grids_text(const std::vector<Grid>& grids) {
  std::string out;
  for (const Grid& grid : grids) out += grid_text(grid) + '\n';
  return out;
}

Table grid_rows(const std::vector<Grid>& grids) {
  Table out{{{"grid"}, {"row"}, {"column"}, {"value", Align::right}}, {}};
  for (const Grid& grid : grids)
    for (std::size_t row = 0; row < grid.rows.size(); ++row)
      for (std::size_t column = 0; column < grid.columns.size(); ++column)
        if (std::isfinite(grid.values[row][column]))
          out.rows.push_back({grid.title, grid.rows[row], grid.columns[column], python_repr(grid.values[row][column])});
  return out;
}

}  // namespace attn::report
