// Convolution and pooling over 1 to 3 spatial axes, channels last. Fewer axes are read as three, the first of size 1.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "attn/backends/reference.h"
#include "attn/base/stop.h"
#include "attn/graph/window.h"
#include "kernels.h"
#include "numbers.h"

namespace attn::backends::reference {
namespace {

using Triple = std::array<std::int64_t, 3>;

/// Sizes along the spatial axes, with 1 for the axes that are not there.
Triple triple(std::span<const std::int64_t> sizes) {
  Triple result{1, 1, 1};
  std::ranges::copy(sizes, result.end() - static_cast<std::ptrdiff_t>(sizes.size()));
  return result;
}

/// Where windows lie: window position i, cell j reads input cell i·stride + j·dilation − before.
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
  /// The index of a cell among all cells of one sample.
  [[nodiscard]] std::int64_t index(const Triple& cell) const {
    return (cell[0] * input[1] + cell[1]) * input[2] + cell[2];
  }
};

Grid grid_of(const Shape& x, const Shape& y, std::span<const std::int64_t> window,
             std::span<const std::int64_t> strides, std::span<const std::int64_t> dilation, graph::Padding padding) {
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

/// f(index) for every index of three axes.
template <typename Function>
void for_each(const Triple& sizes, Function f) {
  for (std::int64_t i = 0; i < sizes[0]; ++i) {
    for (std::int64_t j = 0; j < sizes[1]; ++j) {
      for (std::int64_t k = 0; k < sizes[2]; ++k) f(Triple{i, j, k});
    }
  }
}

/// f(cell of the window, index of the input cell) for the cells of one window that lie inside the input.
template <typename Function>
void for_each_cell(const Grid& grid, const Triple& position, Function f) {
  for_each(grid.window, [&](const Triple& j) {
    const Triple cell{grid.cell(0, position[0], j[0]), grid.cell(1, position[1], j[1]),
                      grid.cell(2, position[2], j[2])};
    if (grid.inside(cell)) f((j[0] * grid.window[1] + j[1]) * grid.window[2] + j[2], grid.index(cell));
  });
}

std::int64_t product(const Triple& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

}  // namespace

void compute(const graph::Conv& op, Tensors in, Tensors out) {
  const Shape& kernel_shape = in[1].shape();
  const Shape window = kernel_shape.slice(0, kernel_shape.rank() - 2);
  const Grid grid = grid_of(in[0].shape(), out[0].shape(), window.dims(), op.strides, op.dilation, op.padding);
  const Dim batch = in[0].shape()[0], channels = in[0].shape().back(), filters = kernel_shape.back();
  const Dim depth = kernel_shape[-2];             // input channels that one filter reads: C/groups
  const Dim group_filters = filters / op.groups;  // filters that read the same channels

  const auto x = read<double>(in[0]);                                       // (B, cells, C)
  const auto kernel = read<double>(in[1]);                                  // (window, depth, F)
  const auto bias = op.bias ? read<double>(in[2]) : std::vector<double>{};  // (F)
  std::vector<double> y(static_cast<std::size_t>(out[0].size()));           // (B, positions, F)
  double* sums = y.data();
  for (Dim b = 0; b < batch; ++b) {
    const double* const sample = x.data() + b * product(grid.input) * channels;
    for_each(grid.output, [&](const Triple& position) {
      throw_if_stopped();
      for_each_cell(grid, position, [&](std::int64_t tap, std::int64_t cell) {
        for (Dim f = 0; f < filters; ++f) {
          const double* const source = sample + cell * channels + f / group_filters * depth;
          for (Dim d = 0; d < depth; ++d) {
            sums[f] += source[d] * kernel[static_cast<std::size_t>((tap * depth + d) * filters + f)];
          }
        }
      });
      for (Dim f = 0; f < filters; ++f) {
        if (op.bias) sums[f] += bias[static_cast<std::size_t>(f)];
        sums[f] = apply(op.activation, sums[f]);
      }
      sums += filters;
    });
  }
  write(out[0], y);
}

void compute(const graph::Pool& op, Tensors in, Tensors out) {
  const std::vector<std::int64_t> dense(op.window.size(), 1);
  const Grid grid = grid_of(in[0].shape(), out[0].shape(), op.window, op.strides, dense, op.padding);
  const Dim batch = in[0].shape()[0], channels = in[0].shape().back();

  const auto x = read<double>(in[0]);                              // (B, cells, C)
  std::vector<double> y(static_cast<std::size_t>(out[0].size()));  // (B, positions, C)
  double* result = y.data();
  for (Dim b = 0; b < batch; ++b) {
    const double* const sample = x.data() + b * product(grid.input) * channels;
    for_each(grid.output, [&](const Triple& position) {
      for (Dim c = 0; c < channels; ++c) {
        double sum = 0.0, maximum = -std::numeric_limits<double>::infinity();
        std::int64_t count = 0;
        for_each_cell(grid, position, [&](std::int64_t, std::int64_t cell) {
          const double number = sample[cell * channels + c];
          if (op.average) sum += number;
          ++count;
          maximum = std::isnan(maximum) || number <= maximum ? maximum : number;
        });
        *result++ = op.average ? sum / static_cast<double>(count) : maximum;
      }
    });
  }
  write(out[0], y);
}

}  // namespace attn::backends::reference
