// Sums of large arrays, in double. Private to the module.
#pragma once

#include <cstdint>

#include "number.h"

namespace attn::optimizers {

/// Returns Σ x².
[[nodiscard]] double sum_of_squares(const float* x, std::int64_t count);
/// Returns Σ x.
[[nodiscard]] double sum_of(const float* x, std::int64_t count);

template <typename T>
[[nodiscard]] double sum_of_squares(const T* x, std::int64_t count) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}
template <typename T>
[[nodiscard]] double sum_of(const T* x, std::int64_t count) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]);
  return sum;
}

}  // namespace attn::optimizers
