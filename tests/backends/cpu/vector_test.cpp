#include "vector.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

namespace attn::backends::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// The largest |f(x) − exact(x)| / scale(x) over a fine grid, in units of float32's roundoff.
double worst(float from, float to, const std::function<float(float)>& f, const std::function<double(double)>& exact,
             const std::function<double(double)>& scale) {
  constexpr int kSteps = 200'000;
  double result = 0.0;
  for (int i = 0; i <= kSteps; ++i) {
    const float x = from + (to - from) * static_cast<float>(i) / kSteps;
    const double error = std::abs(static_cast<double>(f(x)) - exact(x)) / scale(x);
    result = std::max(result, error / std::ldexp(1.0, -24));
  }
  return result;
}

/// Not inlined: the compiler would warn about reads past arrays whose size it sees, in loops that do not run then.
[[gnu::noinline]] float sum(const float* x, std::int64_t size) { return sum_of(x, size); }

TEST_CASE("vector: exp is exact to 2 ulp over its whole range") {
  const auto exact = [](double x) { return std::exp(x); };
  CHECK(worst(-87.0F, 88.7F, exp_of, exact, exact) < 4.0);
  CHECK(worst(-87.0F, 0.0F, exp_below_0, exact, exact) < 4.0);
}

TEST_CASE("vector: exp is right at its limits, at infinity and at NaN") {
  CHECK(exp_of(89.0F) == kInf);
  CHECK(exp_of(kInf) == kInf);
  CHECK(exp_of(-104.0F) == 0.0F);
  CHECK(exp_of(-kInf) == 0.0F);
  CHECK(exp_of(0.0F) == 1.0F);
  CHECK(std::isnan(exp_of(NAN)));
  CHECK(exp_below_0(-kInf) == 0.0F);
  CHECK(exp_below_0(0.0F) == 1.0F);
  CHECK(std::isnan(exp_below_0(NAN)));
}

TEST_CASE("vector: tanh and expm1 keep their relative precision near 0") {
  const auto tangent = [](double x) { return std::tanh(x); };
  const auto size = [](double x) { return std::max(std::abs(std::tanh(x)), 1e-30); };
  CHECK(worst(-10.0F, 10.0F, tanh_of, tangent, size) < 6.0);
  CHECK(worst(-1e-3F, 1e-3F, tanh_of, tangent, size) < 4.0);
  CHECK(tanh_of(100.0F) == 1.0F);
  CHECK(tanh_of(-kInf) == -1.0F);
  CHECK(std::isnan(tanh_of(NAN)));
  const auto minus_one = [](double x) { return std::expm1(x); };
  const auto minus_one_size = [](double x) { return std::max(std::abs(std::expm1(x)), 1e-30); };
  CHECK(worst(-1e-3F, 1e-3F, expm1_of, minus_one, minus_one_size) < 4.0);
  CHECK(worst(-10.0F, 1.0F, expm1_of, minus_one, [](double) { return 1.0; }) < 8.0);
}

/// f of one number, in all lanes.
template <void (*kFunction)(const Lanes&, Lanes&)>
float lane_of(float x) {
  Lanes y;
  kFunction(Lanes{} + x, y);
  return y[0];
}

TEST_CASE("vector: gelu and sigmoid keep their precision over the whole range") {
  constexpr auto& gelu_of = lane_of<cpu::gelu_of>;
  constexpr auto& gelu_tanh_of = lane_of<cpu::gelu_tanh_of>;
  const auto gelu_tanh = [](double x) {
    return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
  };
  // The error of e^(−2u) is 2u times the few units of u: 2u is 4.8 at x = −2.
  CHECK(worst(-2.0F, 8.0F, gelu_tanh_of, gelu_tanh, [&](double x) { return std::max(std::abs(gelu_tanh(x)), 1e-30); }) <
        20.0);
  CHECK(worst(-14.0F, -2.0F, gelu_tanh_of, gelu_tanh, [](double) { return 1.0; }) < 0.5);
  CHECK(gelu_tanh_of(kInf) == kInf);
  CHECK(std::isnan(gelu_tanh_of(NAN)));
  const auto gelu = [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); };
  // The error of z = |x|/√2 is a unit, that of z² three, and that of e^(−z²) is z² times that: 14 at x = −3. The rest
  // is below 6.
  CHECK(worst(-3.0F, 8.0F, gelu_of, gelu, [&](double x) { return std::max(std::abs(gelu(x)), 1e-30); }) < 20.0);
  CHECK(worst(-14.0F, -3.0F, gelu_of, gelu, [](double) { return 1.0; }) < 0.08);
  CHECK(gelu_of(kInf) == kInf);
  CHECK(std::isnan(gelu_of(NAN)));
  CHECK(worst(
            -30.0F, 30.0F, sigmoid_of, [](double x) { return 1.0 / (1.0 + std::exp(-x)); },
            [](double) { return 1.0; }) < 4.0);
  CHECK(sigmoid_of(-kInf) == 0.0F);
  CHECK(sigmoid_of(kInf) == 1.0F);
}

TEST_CASE("vector: sums and maxima handle tails, and a maximum ignores NaN") {
  std::vector<float> x(149);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 20.0F;
  for (std::int64_t size : {0, 1, 15, 16, 17, 33, 64, 149}) {
    float expected = 0.0F;
    for (std::int64_t i = 0; i < size; ++i) expected += x[static_cast<std::size_t>(i)];
    CHECK(sum(x.data(), size) == expected);
    CHECK(max_of(x.data(), size) == (size == 0 ? -kInf : x[static_cast<std::size_t>(size - 1)]));
  }
  x[3] = NAN;
  CHECK(max_of(x.data(), 149) == 128.0F);
  CHECK(std::isnan(sum(x.data(), 149)));
}

}  // namespace
}  // namespace attn::backends::cpu
