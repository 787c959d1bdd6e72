#include "attn/report/grid.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn::report {

void Grid::set(const std::string& row, const std::string& column, double value) {
  const auto index = [](std::vector<std::string>& names, const std::string& name) {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    names.push_back(name);
    return names.size() - 1;
  };
  const std::size_t y = index(rows, row), x = index(columns, column);
  values.resize(rows.size());
  for (std::vector<double>& each : values) each.resize(columns.size(), std::numeric_limits<double>::quiet_NaN());
  values[y][x] = value;
}

double Grid::largest() const {
  double out = 0;
  for (const std::vector<double>& row : values)
    for (const double value : row)
      if (std::isfinite(value)) out = std::max(out, std::abs(value));
  return out;
}

Grid& layers_grid(std::vector<Grid>& grids, const std::string& title, bool is_signed) {
  const auto found = std::ranges::find(grids, title, &Grid::title);
  if (found != grids.end()) return *found;
  grids.push_back({title, "Layer", {}, {}, {}, is_signed, {}});
  return grids.back();
}

}  // namespace attn::report
