// The gradients of convolution and pooling.
#include <cmath>
#include <limits>

#include "attn/base/stop.h"
#include "grid.h"
#include "kernels.h"
#include "numbers.h"

namespace attn::backends::reference {
namespace {

/// Calls f(index in x, index in the kernel, index in y) for every product that a convolution adds up.
template <typename Function>
void for_each_product(const graph::Conv& op, const Shape& x, const Shape& kernel, const Shape& y, Function f) {
  const Shape window = kernel.slice(0, kernel.rank() - 2);
  const Grid grid = grid_of(x, y, window.dims(), op.strides, op.dilation, op.padding);
  const Dim channels = x.back(), filters = kernel.back(), depth = kernel[-2], group_filters = filters / op.groups;
  std::int64_t sum = 0;
  for (Dim b = 0; b < x[0]; ++b) {
    const std::int64_t sample = b * product(grid.input) * channels;
    for_each(grid.output, [&](const Triple& position) {
      throw_if_stopped();
      for_each_cell(grid, position, [&](std::int64_t tap, std::int64_t cell) {
        for (Dim filter = 0; filter < filters; ++filter) {
          const std::int64_t source = sample + cell * channels + filter / group_filters * depth;
          for (Dim d = 0; d < depth; ++d) {
            f(static_cast<std::size_t>(source + d), static_cast<std::size_t>((tap * depth + d) * filters + filter),
              static_cast<std::size_t>(sum + filter));
          }
        }
      });
      sum += filters;
    });
  }
}

}  // namespace

void compute(const graph::ConvInputGrad& op, Tensors in, Tensors out) {
  const auto kernel = read<double>(in[0]);
  const auto dy = read<double>(in[1]);
  std::vector<double> dx(static_cast<std::size_t>(out[0].size()));
  for_each_product(op.forward, op.input, in[0].shape(), in[1].shape(),
                   [&](std::size_t x, std::size_t k, std::size_t y) { dx[x] += kernel[k] * dy[y]; });
  write(out[0], dx);
}

void compute(const graph::ConvKernelGrad& op, Tensors in, Tensors out) {
  const auto numbers = read<double>(in[0]);
  const auto dy = read<double>(in[1]);
  std::vector<double> dkernel(static_cast<std::size_t>(out[0].size()));
  for_each_product(op.forward, in[0].shape(), op.kernel, in[1].shape(),
                   [&](std::size_t x, std::size_t k, std::size_t y) { dkernel[k] += numbers[x] * dy[y]; });
  write(out[0], dkernel);
}

void compute(const graph::PoolGrad& op, Tensors in, Tensors out) {
  const graph::Pool& forward = op.forward;
  const std::vector<std::int64_t> dense(forward.window.size(), 1);
  const Grid grid = grid_of(op.input, in.back().shape(), forward.window, forward.strides, dense, forward.padding);
  const Dim channels = op.input.back();
  const auto x = forward.average ? std::vector<double>{} : read<double>(in[0]);
  const auto dy = read<double>(in.back());
  std::vector<double> dx(static_cast<std::size_t>(out[0].size()));
  std::size_t next = 0;
  for (Dim b = 0; b < op.input[0]; ++b) {
    const std::int64_t sample = b * product(grid.input);
    for_each(grid.output, [&](const Triple& position) {
      for (Dim c = 0; c < channels; ++c) {
        const auto at = [&](std::int64_t cell) { return static_cast<std::size_t>((sample + cell) * channels + c); };
        std::int64_t count = 0, chosen = -1;
        double maximum = -std::numeric_limits<double>::infinity();
        for_each_cell(grid, position, [&](std::int64_t, std::int64_t cell) {
          ++count;
          if (forward.average) return;
          const double number = x[at(cell)];
          if (chosen >= 0 && (std::isnan(maximum) || number <= maximum)) return;
          maximum = number;
          chosen = cell;
        });
        const double gradient = dy[next++];
        if (!forward.average) {
          if (chosen >= 0) dx[at(chosen)] += gradient;
          continue;
        }
        const double share = gradient / static_cast<double>(count);
        for_each_cell(grid, position, [&](std::int64_t, std::int64_t cell) { dx[at(cell)] += share; });
      }
    });
  }
  write(out[0], dx);
}

}  // namespace attn::backends::reference
