#include "constraint.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "number.h"

namespace attn::optimizers {
namespace {

/// Returns the factor for a group of weights with this norm.
template <typename S>
S factor_of(const Constraint& constraint, S norm) {
  constexpr double kEpsilon = 1e-7;
  S wanted(1.0);
  if (constraint.kind == ConstraintKind::max_norm) wanted = std::min(norm, S(constraint.max_value));
  if (constraint.kind == ConstraintKind::min_max_norm) {
    const S within = std::max(std::min(norm, S(constraint.max_value)), S(constraint.min_value));
    wanted = S(constraint.rate) * within + S(1.0 - constraint.rate) * norm;
  }
  return wanted / (S(kEpsilon) + norm);
}

template <typename T>
void constrain_numbers(const Constraint& constraint, const Shape& shape, std::span<T> w) {
  if (constraint.kind == ConstraintKind::non_neg) {
    for (T& x : w) x = x >= T(0.0F) ? x : T(0.0F) * x;
    return;
  }
  // Elements are in one group if they differ only in their positions along the constraint's axes.
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
  std::vector<double> squares(static_cast<std::size_t>(groups), 0.0);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const Scalar<T> x(static_cast<double>(w[i]));
    squares[group_of(static_cast<std::int64_t>(i))] += static_cast<double>(x * x);
  }
  std::vector<T> factors;
  for (const double sum : squares)
    factors.push_back(T(static_cast<double>(factor_of(constraint, square_root(Scalar<T>(static_cast<double>(sum)))))));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] *= factors[group_of(static_cast<std::int64_t>(i))];
}

}  // namespace

void constrain(const Constraint& constraint, const Tensor& weight) {
  with_number(weight.dtype(),
              [&](auto number) { constrain_numbers(constraint, weight.shape(), weight.as<decltype(number)>()); });
}

}  // namespace attn::optimizers
