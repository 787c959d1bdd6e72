// Batch normalization with batch statistics, and its gradient.
#include <cmath>
#include <numeric>

#include "kernels.h"
#include "numbers.h"
#include "offsets.h"

namespace attn::backends::reference {
namespace {

using Vector = std::vector<double>;

/// Cuts x into channels: `starts` is indexed by channel, `along` by position.
Slices channels_of(const graph::BatchNormTraining& op, const Shape& shape) {
  std::vector<int> axes(static_cast<std::size_t>(shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  axes.erase(axes.begin() + *normalize_axis(op.axis, shape.rank()));
  return slices(shape, axes);
}

/// Selects by the mask the elements that the statistics include; without a mask, all elements.
class Counting {
 public:
  Counting(const Tensor* mask, const Shape& x) : width_(x.back()) {
    if (mask != nullptr) mask_ = read<double>(*mask);
  }
  [[nodiscard]] bool at(std::size_t element) const {
    return mask_.empty() || mask_[element / static_cast<std::size_t>(width_)] != 0.0;
  }
  /// Returns the number of included elements of a channel.
  [[nodiscard]] double number(const Slices& channels, std::int64_t start) const {
    constexpr double kKerasEpsilon = 1e-7;
    if (mask_.empty()) return static_cast<double>(channels.along.size());
    double count = kKerasEpsilon;
    for (const std::int64_t along : channels.along) {
      if (at(static_cast<std::size_t>(start + along))) count += 1.0;
    }
    return count;
  }

 private:
  Vector mask_;
  Dim width_;
};

}  // namespace

void compute(const graph::BatchNormTraining& op, Tensors in, Tensors out) {
  const auto x = read<double>(in[0]);
  std::size_t next = 1;
  const Vector gamma = op.scale ? read<double>(in[next++]) : Vector{};
  const Vector beta = op.center ? read<double>(in[next++]) : Vector{};
  const Counting counting(op.mask ? &in[next] : nullptr, in[0].shape());
  const Slices channels = channels_of(op, in[0].shape());
  Vector y(x.size()), means, variances;
  for (std::size_t c = 0; c < channels.starts.size(); ++c) {
    const auto at = [&](std::int64_t along) { return static_cast<std::size_t>(channels.starts[c] + along); };
    const double n = counting.number(channels, channels.starts[c]);
    double mean = 0.0, variance = 0.0;
    for (const std::int64_t along : channels.along)
      if (counting.at(at(along))) mean += x[at(along)];
    mean /= n;
    for (const std::int64_t along : channels.along) {
      if (!counting.at(at(along))) continue;
      const double distance = x[at(along)] - mean;
      variance += distance * distance;
    }
    variance /= n;
    const double inverse = 1.0 / std::sqrt(variance + op.epsilon);
    for (const std::int64_t along : channels.along) {
      double& number = y[at(along)] = (x[at(along)] - mean) * inverse;
      if (op.scale) number *= gamma[c];
      if (op.center) number += beta[c];
    }
    means.push_back(mean);
    variances.push_back(variance);
  }
  write(out[0], y);
  write(out[1], means);
  write(out[2], variances);
}

void compute(const graph::BatchNormGrad& op, Tensors in, Tensors out) {
  const graph::BatchNormTraining& forward = op.forward;
  const auto x = read<double>(in[0]);
  std::size_t next = 1;
  const Vector gamma = forward.scale ? read<double>(in[next++]) : Vector{};
  const Counting counting(forward.mask ? &in[next++] : nullptr, in[0].shape());
  const Vector means = read<double>(in[next]), variances = read<double>(in[next + 1]);
  const Vector dy = read<double>(in[next + 2]);
  const Slices channels = channels_of(forward, in[0].shape());
  Vector dx(x.size()), dgamma, dbeta;
  for (std::size_t c = 0; c < channels.starts.size(); ++c) {
    const auto at = [&](std::int64_t along) { return static_cast<std::size_t>(channels.starts[c] + along); };
    const double n = counting.number(channels, channels.starts[c]), mean = means[c];
    const double inverse = 1.0 / std::sqrt(variances[c] + forward.epsilon);
    double sum = 0.0, product = 0.0, distances = 0.0;  // Σ dy, Σ dy·x̂, Σ x̂ over the included elements
    for (const std::int64_t along : channels.along) {
      const double normalized = (x[at(along)] - mean) * inverse;
      sum += dy[at(along)];
      product += dy[at(along)] * normalized;
      if (counting.at(at(along))) distances += normalized;
    }
    dgamma.push_back(product);
    dbeta.push_back(sum);
    // The gradients with respect to the variance, and to the mean (including the effect of the mean on the variance),
    // in units of inverse/n.
    const double of_variance = product / n;
    const double of_mean = (sum - of_variance * distances) / n;
    const double factor = forward.scale ? gamma[c] * inverse : inverse;
    for (const std::int64_t along : channels.along) {
      double& number = dx[at(along)] = dy[at(along)];
      if (counting.at(at(along))) number -= of_mean + (x[at(along)] - mean) * inverse * of_variance;
      number *= factor;
    }
  }
  write(out[0], dx);
  if (forward.scale) write(out[1], dgamma);
  if (forward.center) write(out.back(), dbeta);
}

}  // namespace attn::backends::reference
