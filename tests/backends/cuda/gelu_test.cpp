// The reason why erf-gelu is not left to cuBLASLt, which has the tanh form: checked for every half-precision number.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "attn/base/dtype.h"
#include "attn/base/tensor.h"

namespace attn::test {
namespace {

double by_erf(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }
double by_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

/// The largest distance between the two, in steps of the dtype at the exact result, and the number of results that are
/// off by more than rounding.
struct Distance {
  double steps = 0, at = 0;
  int beyond_rounding = 0, numbers = 0;
};
Distance distance_of(DType dtype, int digits, int smallest) {
  Distance found;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const double x = Tensor::load(dtype, reinterpret_cast<const std::byte*>(&half), 0);
    if (!std::isfinite(x)) continue;
    const double exact = by_erf(x);
    const int exponent = exact == 0 ? smallest : std::max(std::ilogb(exact), smallest);
    const double steps = std::abs(by_tanh(x) - exact) / std::ldexp(1.0, exponent - digits);
    ++found.numbers;
    found.beyond_rounding += steps > 0.5 ? 1 : 0;
    if (steps > found.steps) found.steps = steps, found.at = x;
  }
  return found;
}

}  // namespace

TEST_CASE("cuda: tanh-gelu is less exact than half precision, so erf-gelu has its own kernel") {
  const Distance half = distance_of(DType::float16, 10, -14), brain = distance_of(DType::bfloat16, 7, -126);
  CAPTURE(half.at);
  CAPTURE(brain.at);
  // In the tail of negative numbers, where the result is small: a few thousand of the 63,488 numbers of float16, and a
  // few hundred of the 65,280 of bfloat16.
  CHECK(half.beyond_rounding > 1000);
  CHECK(brain.beyond_rounding > 100);
  CHECK(half.steps > 0.5);
  CHECK(brain.steps > 0.5);
}

}  // namespace attn::test
