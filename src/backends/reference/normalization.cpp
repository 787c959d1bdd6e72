// Layer normalization and its root-mean-square forms, and batch normalization with stored statistics.
#include <cmath>

#include "kernels.h"
#include "numbers.h"
#include "offsets.h"

namespace attn::backends::reference {

void compute(const graph::LayerNorm& op, Tensors in, Tensors out) {
  const auto x = read<double>(in[0]);
  const Slices rows = slices(in[0].shape(), op.axes);
  const std::size_t count = rows.along.size();
  const auto gamma = op.scale ? read<double>(in[1]) : std::vector<double>{};
  const auto beta = op.center ? read<double>(in.back()) : std::vector<double>{};
  const bool rms = op.kind == graph::NormKind::rms, centered = op.kind == graph::NormKind::layer;

  std::vector<double> y(x.size());
  for (const std::int64_t start : rows.starts) {
    const auto at = [&](std::size_t j) { return static_cast<std::size_t>(start + rows.along[j]); };
    double mean = 0.0, squares = 0.0;
    if (!rms) {
      for (std::size_t j = 0; j < count; ++j) mean += x[at(j)];
      mean /= static_cast<double>(count);
    }
    for (std::size_t j = 0; j < count; ++j) {
      const double distance = rms ? x[at(j)] : x[at(j)] - mean;
      squares += distance * distance;
    }
    const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(count) + op.epsilon);
    for (std::size_t j = 0; j < count; ++j) {
      double& number = y[at(j)] = (centered ? x[at(j)] - mean : x[at(j)]) * inverse;
      if (op.scale) number *= gamma[j];
      if (op.center) number += beta[j];
    }
  }
  write(out[0], y);
}

void compute(const graph::BatchNorm& op, Tensors in, Tensors out) {
  const auto x = read<double>(in[0]);
  const auto mean = read<double>(in[1]);
  const auto variance = read<double>(in[2]);
  const auto gamma = op.scale ? read<double>(in[3]) : std::vector<double>{};
  const auto beta = op.center ? read<double>(in.back()) : std::vector<double>{};
  std::vector<double> inverse(variance.size());
  for (std::size_t c = 0; c < inverse.size(); ++c) inverse[c] = 1.0 / std::sqrt(variance[c] + op.epsilon);

  const Shape& shape = in[0].shape();
  std::vector<Dim> steps(static_cast<std::size_t>(shape.rank()), 0);
  steps[static_cast<std::size_t>(op.axis < 0 ? op.axis + shape.rank() : op.axis)] = 1;
  const Offsets channels = offsets(shape.dims(), steps);
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto c = static_cast<std::size_t>(channels[i]);
    y[i] = (x[i] - mean[c]) * inverse[c];
    if (op.scale) y[i] *= gamma[c];
    if (op.center) y[i] += beta[c];
  }
  write(out[0], y);
}

}  // namespace attn::backends::reference
