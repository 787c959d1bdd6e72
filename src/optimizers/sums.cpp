#include "sums.h"

#include "attn/base/clones.h"

namespace attn::optimizers {
namespace {

/// Independent accumulators: additions into one would wait for each other.
constexpr std::int64_t kSums = 8;

template <typename Function>
[[gnu::always_inline]] inline double sum_over(const float* x, std::int64_t count, Function f) {
  double sums[kSums] = {}, rest = 0.0;
  std::int64_t i = 0;
  for (; i + kSums <= count; i += kSums)
    for (std::int64_t s = 0; s < kSums; ++s) sums[s] += f(static_cast<double>(x[i + s]));
  for (; i < count; ++i) rest += f(static_cast<double>(x[i]));
  for (const double sum : sums) rest += sum;
  return rest;
}

}  // namespace

ATTN_CLONES double sum_of_squares(const float* x, std::int64_t count) {
  return sum_over(x, count, [](double number) { return number * number; });
}

ATTN_CLONES double sum_of(const float* x, std::int64_t count) {
  return sum_over(x, count, [](double number) { return number; });
}

}  // namespace attn::optimizers
