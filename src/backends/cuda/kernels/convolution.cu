// Convolution and pooling over 1 to 3 spatial axes, channels last, one thread per element of the result. Fewer axes are
// extended to three by leading axes of size 1.
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "attn/graph/window.h"
#include "device.h"
#include "function.h"
#include "number.h"
#include "plain.h"
#include "threads.h"
#include "walk.h"

namespace attn::cuda {
namespace {

/// Sizes along the spatial axes.
struct Triple {
  std::int64_t of[3] = {1, 1, 1};

  [[nodiscard]] __host__ __device__ std::int64_t product() const { return of[0] * of[1] * of[2]; }
};

Triple triple(std::span<const std::int64_t> sizes) {
  Triple result;
  for (std::size_t i = 0; i < sizes.size(); ++i) result.of[3 - sizes.size() + i] = sizes[i];
  return result;
}

/// The geometry of windows: window position i, cell j reads input cell i·stride + j·dilation − before.
struct Grid {
  Triple input, output, window, stride, dilation;
  std::int64_t before[3] = {};

  /// Calls f(cell of the window, index of the input cell) for the cells of one window that lie inside the input.
  template <typename Function>
  __device__ void for_each_cell(std::int64_t position, Function f) const {
    std::int64_t first[3] = {};
    for (int axis = 2; axis >= 0; --axis) {
      const Divided split = divide(position, output.of[axis]);
      first[axis] = split.remainder * stride.of[axis] - before[axis];
      position = split.quotient;
    }
    for (std::int64_t i = 0; i < window.of[0]; ++i) {
      const std::int64_t x = first[0] + i * dilation.of[0];
      if (x < 0 || x >= input.of[0]) continue;
      for (std::int64_t j = 0; j < window.of[1]; ++j) {
        const std::int64_t y = first[1] + j * dilation.of[1];
        if (y < 0 || y >= input.of[1]) continue;
        for (std::int64_t k = 0; k < window.of[2]; ++k) {
          const std::int64_t z = first[2] + k * dilation.of[2];
          if (z < 0 || z >= input.of[2]) continue;
          f((i * window.of[1] + j) * window.of[2] + k, (x * input.of[1] + y) * input.of[2] + z);
        }
      }
    }
  }
};

Grid grid_of(const Shape& x, const Shape& y, std::span<const std::int64_t> window,
             std::span<const std::int64_t> strides, std::span<const std::int64_t> dilation, graph::Padding padding) {
  Grid grid{triple(x.slice(1, x.rank() - 1).dims()), triple(y.slice(1, y.rank() - 1).dims()), triple(window),
            triple(strides), triple(dilation)};
  for (std::size_t a = 3 - window.size(); a < 3; ++a) {
    grid.before[a] =
        graph::windows_of(grid.input.of[a], grid.window.of[a], grid.stride.of[a], grid.dilation.of[a], padding).before;
  }
  return grid;
}

struct Convolution {
  Grid grid;
  Array x;       ///< (B, cells, channels)
  Array kernel;  ///< (window, depth, filters)
  Array bias;    ///< (filters) or null
  Array y;       ///< (B, positions, filters)
  std::int64_t count = 0, channels = 1, filters = 1;
  std::int64_t depth = 1;          ///< input channels that one filter reads: channels/groups
  std::int64_t group_filters = 1;  ///< filters that read the same channels
};

template <typename Number>
__global__ void conv_kernel(Convolution c, Function<Number> f) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= c.count) return;
  const Divided split = divide(i, c.filters), sample = divide(split.quotient, c.grid.output.product());
  const std::int64_t filter = split.remainder;
  const std::int64_t group = divide(filter, c.group_filters).quotient;
  const std::int64_t first = sample.quotient * c.grid.input.product() * c.channels + group * c.depth;
  Number sum = c.bias.data != nullptr ? load<Number>(c.bias, filter) : Number{};
  c.grid.for_each_cell(sample.remainder, [&](std::int64_t tap, std::int64_t cell) {
    for (std::int64_t d = 0; d < c.depth; ++d) {
      sum += load<Number>(c.x, first + cell * c.channels + d) *
             load<Number>(c.kernel, (tap * c.depth + d) * c.filters + filter);
    }
  });
  store(c.y, i, apply(f, sum));
}

template <typename Number>
__global__ void pool_kernel(bool average, Grid grid, Array x, Array y, std::int64_t count, std::int64_t channels) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= count) return;
  const Divided split = divide(i, channels), sample = divide(split.quotient, grid.output.product());
  const std::int64_t first = sample.quotient * grid.input.product() * channels + split.remainder;
  Number sum{}, cells{}, maximum = -std::numeric_limits<Number>::infinity();
  grid.for_each_cell(sample.remainder, [&](std::int64_t, std::int64_t cell) {
    const Number number = load<Number>(x, first + cell * channels);
    sum += number;
    cells += Number(1);
    if (maximum == maximum && !(number <= maximum)) maximum = number;
  });
  store(y, i, average ? sum / cells : maximum);
}

}  // namespace

Choice make_plain(const graph::Conv& op, const Step& step) {
  const Shape &x = step.inputs[0].shape, &kernel = step.inputs[1].shape, &y = step.outputs[0].shape;
  const Shape window = kernel.slice(0, kernel.rank() - 2);
  Convolution c;
  c.grid = grid_of(x, y, window.dims(), op.strides, op.dilation, op.padding);
  c.x = array_of(step.inputs[0]);
  c.kernel = array_of(step.inputs[1]);
  if (op.bias) c.bias = array_of(step.inputs[2]);
  c.y = array_of(step.outputs[0]);
  c.count = y.size();
  c.channels = x.back();
  c.filters = kernel.back();
  c.depth = kernel[-2];
  c.group_filters = c.filters / op.groups;
  return {"plain", [c, activation = op.activation](cudaStream_t stream) {
            with_float_of(c.x.dtype, [&](auto zero) {
              using Number = decltype(zero);
              check(launch(conv_kernel<Number>, thread_each(c.count), stream, c, function_of<Number>(activation)),
                    "convolution");
            });
          }};
}

Choice make_plain(const graph::Pool& op, const Step& step) {
  const Operand &x = step.inputs[0], &y = step.outputs[0];
  const std::vector<std::int64_t> dense(op.window.size(), 1);
  const Grid grid = grid_of(x.shape, y.shape, op.window, op.strides, dense, op.padding);
  return {"plain", [grid, average = op.average, x = array_of(x), y = array_of(y), count = y.size(),
                    channels = x.shape.back()](cudaStream_t stream) {
            with_float_of(x.dtype, [&](auto zero) {
              check(
                  launch(pool_kernel<decltype(zero)>, thread_each(count), stream, average, grid, x, y, count, channels),
                  "pool");
            });
          }};
}

}  // namespace attn::cuda
