// The geometry of convolution and pooling windows over 1 to 3 spatial axes. Fewer axes are extended to three by leading
// axes of size 1.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "attn/base/shape.h"
#include "attn/graph/window.h"

namespace attn::backends::reference {

using Triple = std::array<std::int64_t, 3>;

/// Sizes along the spatial axes, with 1 for missing axes.
inline Triple triple(std::span<const std::int64_t> sizes) {
  Triple result{1, 1, 1};
  std::ranges::copy(sizes, result.end() - static_cast<std::ptrdiff_t>(sizes.size()));
  return result;
}

/// The geometry of windows: window position i, cell j reads input cell i·stride + j·dilation − before.
struct Grid {
  Triple input, output, window, stride, dilation, before;

  [[nodiscard]] std::int64_t cell(int axis, std::int64_t i, std::int64_t j) const {
    const auto a = static_cast<std::size_t>(axis);
    return i * stride[a] + j * dilation[a] - before[a];
  }
  [[nodiscard]] bool inside(const Triple& cell) const {
    for (std::size_t a = 0; a < 3; ++a) {
      if (cell[a] < 0 || cell[a] >= input[a]) return false;
    }
    return true;
  }
  /// Returns the index of a cell among all cells of one sample.
  [[nodiscard]] std::int64_t index(const Triple& cell) const {
    return (cell[0] * input[1] + cell[1]) * input[2] + cell[2];
  }
};

inline Grid grid_of(const Shape& x, const Shape& y, std::span<const std::int64_t> window,
                    std::span<const std::int64_t> strides, std::span<const std::int64_t> dilation,
                    graph::Padding padding) {
  Grid grid{triple(x.slice(1, x.rank() - 1).dims()),
            triple(y.slice(1, y.rank() - 1).dims()),
            triple(window),
            triple(strides),
            triple(dilation),
            {0, 0, 0}};
  for (std::size_t a = 3 - window.size(); a < 3; ++a) {
    grid.before[a] = graph::windows_of(grid.input[a], grid.window[a], grid.stride[a], grid.dilation[a], padding).before;
  }
  return grid;
}

/// Calls f(index) for every index of three axes.
template <typename Function>
void for_each(const Triple& sizes, Function f) {
  for (std::int64_t i = 0; i < sizes[0]; ++i) {
    for (std::int64_t j = 0; j < sizes[1]; ++j) {
      for (std::int64_t k = 0; k < sizes[2]; ++k) f(Triple{i, j, k});
    }
  }
}

/// Calls f(cell of the window, index of the input cell) for the cells of one window that lie inside the input.
template <typename Function>
void for_each_cell(const Grid& grid, const Triple& position, Function f) {
  for_each(grid.window, [&](const Triple& j) {
    const Triple cell{grid.cell(0, position[0], j[0]), grid.cell(1, position[1], j[1]),
                      grid.cell(2, position[2], j[2])};
    if (grid.inside(cell)) f((j[0] * grid.window[1] + j[1]) * grid.window[2] + j[2], grid.index(cell));
  });
}

inline std::int64_t product(const Triple& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

}  // namespace attn::backends::reference
