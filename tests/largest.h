// The largest element of a tensor, and the largest difference of two.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "attn/base/tensor.h"

namespace attn::test {

/// The largest magnitude; NaN is ignored.
[[nodiscard]] inline double largest(const Tensor& tensor) {
  double out = 0.0;
  for (std::int64_t i = 0; i < tensor.size(); ++i) out = std::max(out, std::abs(tensor.at(i)));
  return out;
}

/// Infinite if the shapes differ or a NaN is on one side only.
[[nodiscard]] inline double largest_error(const Tensor& expected, const Tensor& got) {
  double out = expected.shape() == got.shape() ? 0.0 : std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; std::isfinite(out) && i < got.size(); ++i) {
    const double a = expected.at(i), b = got.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;  // a == b, for infinities, whose difference is NaN
    const double error = std::abs(a - b);
    out = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(out, error);
  }
  return out;
}

}  // namespace attn::test
