#include "constraint.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace attn::optimizers {

void constrain(const Constraint& constraint, const Tensor& weight) {
  const std::span<float> w = weight.as<float>();
  if (constraint.kind == ConstraintKind::non_neg) {
    for (float& x : w) x = x >= 0.0F ? x : 0.0F * x;
    return;
  }
  // Elements whose places differ along the constraint's axes alone have a norm in common.
  const Shape& shape = weight.shape();
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()), 0);
  std::int64_t groups = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const bool summed = std::ranges::any_of(
        constraint.axis, [&](std::int64_t at) { return normalize_axis(at, shape.rank()).value_or(-1) == axis; });
    if (summed) continue;
    strides[static_cast<std::size_t>(axis)] = groups;
    groups *= shape[axis];
  }
  const auto group_of = [&](std::int64_t i) {
    std::int64_t group = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      group += i % shape[axis] * strides[static_cast<std::size_t>(axis)];
      i /= shape[axis];
    }
    return static_cast<std::size_t>(group);
  };
  std::vector<double> norms(static_cast<std::size_t>(groups), 0.0);
  for (std::size_t i = 0; i < w.size(); ++i)
    norms[group_of(static_cast<std::int64_t>(i))] += static_cast<double>(w[i]) * static_cast<double>(w[i]);
  constexpr double kEpsilon = 1e-7;
  for (double& norm : norms) {
    norm = std::sqrt(norm);
    double wanted = 1.0;
    if (constraint.kind == ConstraintKind::max_norm) wanted = std::min(norm, constraint.max_value);
    if (constraint.kind == ConstraintKind::min_max_norm)
      wanted = constraint.rate * std::clamp(norm, constraint.min_value, constraint.max_value) +
               (1.0 - constraint.rate) * norm;
    norm = wanted / (kEpsilon + norm);  // what to multiply by
  }
  for (std::size_t i = 0; i < w.size(); ++i) w[i] *= static_cast<float>(norms[group_of(static_cast<std::int64_t>(i))]);
}

}  // namespace attn::optimizers
