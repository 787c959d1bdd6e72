// The gradient of layer normalization and its root-mean-square forms.
#include <cmath>

#include "kernels.h"
#include "numbers.h"
#include "offsets.h"

namespace attn::backends::reference {

void compute(const graph::LayerNormGrad& op, Tensors in, Tensors out) {
  using graph::NormKind;
  const graph::LayerNorm& forward = op.forward;
  const auto x = read<double>(in[0]);
  const auto gamma = forward.scale ? read<double>(in[1]) : std::vector<double>{};
  const auto dy = read<double>(in.back());
  const Slices rows = slices(in[0].shape(), forward.axes);
  const std::size_t count = rows.along.size();
  const auto n = static_cast<double>(count);
  const bool rms = forward.kind == NormKind::rms;

  std::vector<double> dx(x.size()), dgamma(forward.scale ? count : 0), dbeta(forward.center ? count : 0);
  std::vector<double> distance(count), g(count);
  for (const std::int64_t start : rows.starts) {
    const auto at = [&](std::size_t j) { return static_cast<std::size_t>(start + rows.along[j]); };
    double mean = 0.0, squares = 0.0;
    if (!rms) {
      for (std::size_t j = 0; j < count; ++j) mean += x[at(j)];
      mean /= n;
    }
    for (std::size_t j = 0; j < count; ++j) {
      distance[j] = rms ? x[at(j)] : x[at(j)] - mean;
      squares += distance[j] * distance[j];
    }
    const double inverse = 1.0 / std::sqrt(squares / n + forward.epsilon);
    double sum = 0.0, product = 0.0;  // Σ g and Σ g·x̂, g = dy·gamma
    for (std::size_t j = 0; j < count; ++j) {
      distance[j] *= inverse;
      const double normalized = forward.kind == NormKind::rms_layer ? x[at(j)] * inverse : distance[j];
      g[j] = dy[at(j)];
      if (forward.center) dbeta[j] += g[j];
      if (forward.scale) {
        dgamma[j] += g[j] * normalized;
        g[j] *= gamma[j];
      }
      if (forward.kind == NormKind::layer) sum += g[j];
      product += g[j] * normalized;
    }
    sum /= n;
    product /= n;
    for (std::size_t j = 0; j < count; ++j) dx[at(j)] = (g[j] - sum - distance[j] * product) * inverse;
  }
  write(out[0], dx);
  if (forward.scale) write(out[1], dgamma);
  if (forward.center) write(out.back(), dbeta);
}

}  // namespace attn::backends::reference
