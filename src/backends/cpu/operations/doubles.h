// Loops in double over float32 numbers, for sums with cancellation.
#pragma once

#include <cstdint>
#include <cstring>

#include "vector.h"

namespace attn::backends::cpu {

/// Doubles per vector: half of the lanes.
inline constexpr int kHalf = kLanes / 2;
using Doubles = double __attribute__((vector_size(kHalf * sizeof(double))));
using HalfLanes = float __attribute__((vector_size(kHalf * sizeof(float))));

/// Loads the first `count` numbers, at most 8, and zeros for the others.
[[gnu::always_inline]] inline void load_some(const float* from, std::int64_t count, Doubles& to) {
  HalfLanes numbers{};
  if (count >= kHalf) {
    std::memcpy(&numbers, from, sizeof numbers);
  } else {
    std::memcpy(&numbers, from, static_cast<std::size_t>(count) * sizeof(float));
  }
  to = __builtin_convertvector(numbers, Doubles);
}
[[gnu::always_inline]] inline void store_some(const Doubles& from, std::int64_t count, float* to) {
  const HalfLanes numbers = __builtin_convertvector(from, HalfLanes);
  if (count >= kHalf) {
    std::memcpy(to, &numbers, sizeof numbers);
  } else {
    std::memcpy(to, &numbers, static_cast<std::size_t>(count) * sizeof(float));
  }
}
[[gnu::always_inline]] inline double sum_of_halves(const Doubles& x) {
  double sum = 0.0;
  for (int lane = 0; lane < kHalf; ++lane) sum += x[lane];
  return sum;
}

}  // namespace attn::backends::cpu
