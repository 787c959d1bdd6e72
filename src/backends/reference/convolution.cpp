// Convolution and pooling over 1 to 3 spatial axes, channels last.
#include <cmath>
#include <limits>

#include "attn/backends/reference.h"
#include "attn/base/stop.h"
#include "grid.h"
#include "kernels.h"
#include "numbers.h"

namespace attn::backends::reference {
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
