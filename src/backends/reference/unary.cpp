// Unary functions. The formulas keep Keras's form where infinities and NaN depend on it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "attn/backends/reference.h"
#include "functions.h"

namespace attn::backends {
namespace {

using graph::UnaryFn;
using namespace reference;  // functions.h

double relu(double x, double slope, double threshold, double max_value) {
  if (x > threshold) return std::min(x, max_value);
  // Keras's comparison clears values not above a threshold, and NaN; without a threshold NaN stays.
  if (slope == 0.0) return std::isnan(x) && threshold == 0.0 ? x : 0.0;
  return slope * (x - threshold);
}

double gelu_tanh(double x) {
  const double inner = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + std::tanh(inner));
}

double soft_shrink(double x, double threshold) {
  if (x > threshold) return x - threshold;
  if (x < -threshold) return x + threshold;
  return 0.0;
}

double sparse_plus(double x) {
  if (x <= -1.0) return 0.0;
  return x < 1.0 ? 0.25 * (x + 1.0) * (x + 1.0) : x;
}

double sparse_sigmoid(double x) {
  if (x <= -1.0) return 0.0;
  return x >= 1.0 ? 1.0 : 0.5 * (x + 1.0);
}

/// Four exponent and three mantissa bits: the step is an eighth of a power of two; below 2^−6 it is 2^−9.
double float8_e4m3fn(double x) {
  constexpr double kLargest = 448.0;
  constexpr int kLeastExponent = -6, kMantissa = 3;
  if (std::isnan(x) || x == 0.0) return x;
  if (std::abs(x) >= kLargest) return std::copysign(kLargest, x);
  const double step = std::ldexp(1.0, std::max(std::ilogb(x), kLeastExponent) - kMantissa);
  return std::nearbyint(x / step) * step;
}

}  // namespace

double apply(const graph::Unary& function, double x) {
  const double a = function.a;
  switch (function.fn) {
    case UnaryFn::linear:
      return x;
    case UnaryFn::relu:
      return relu(x, a, function.b, function.c);
    case UnaryFn::elu:
      return x > 0.0 ? x : a * std::expm1(x);
    case UnaryFn::celu:
      return std::isnan(x) ? x : std::max(x, 0.0) + a * std::expm1(std::min(x, 0.0) / a);
    case UnaryFn::selu:
      return kSeluScale * (x > 0.0 ? x : kSeluAlpha * std::expm1(x));
    case UnaryFn::gelu:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case UnaryFn::gelu_tanh:
      return gelu_tanh(x);
    case UnaryFn::silu:
      return x * sigmoid(x);
    case UnaryFn::sigmoid:
      return sigmoid(x);
    case UnaryFn::tanh:
      return std::tanh(x);
    case UnaryFn::softplus:
      return std::isnan(x) ? x : softplus(x);
    case UnaryFn::softsign:
      return x / (1.0 + std::abs(x));
    case UnaryFn::exponential:
      return std::exp(x);
    case UnaryFn::hard_sigmoid:
      return hard_sigmoid(x, function.a == 0.0 ? kHardSigmoidReach : function.a);
    case UnaryFn::hard_silu:
      return x * hard_sigmoid(x, kHardSigmoidReach);
    case UnaryFn::hard_tanh:
      return clip(x, -1.0, 1.0);
    case UnaryFn::log_sigmoid:
      return std::isnan(x) ? x : -softplus(-x);
    case UnaryFn::mish:
      return std::isnan(x) ? x : x * std::tanh(softplus(x));
    case UnaryFn::hard_shrink:
      return std::abs(x) > a ? x : 0.0;
    case UnaryFn::soft_shrink:
      return soft_shrink(x, a);
    case UnaryFn::tanh_shrink:
      return x - std::tanh(x);
    case UnaryFn::threshold:
      return x > a ? x : function.b;
    case UnaryFn::squareplus:
      return (x + std::sqrt(x * x + a)) / 2.0;
    case UnaryFn::sparse_plus:
      return sparse_plus(x);
    case UnaryFn::sparse_sigmoid:
      return sparse_sigmoid(x);
    case UnaryFn::absolute:
      return std::abs(x);
    case UnaryFn::negative:
      return -x;
    case UnaryFn::expm1:
      return std::expm1(x);
    case UnaryFn::log:
      return std::log(x);
    case UnaryFn::log1p:
      return std::log1p(x);
    case UnaryFn::log2:
      return std::log2(x);
    case UnaryFn::log10:
      return std::log10(x);
    case UnaryFn::sqrt:
      return std::sqrt(x);
    case UnaryFn::rsqrt:
      return 1.0 / std::sqrt(x);
    case UnaryFn::square:
      return x * x;
    case UnaryFn::reciprocal:
      return 1.0 / x;
    case UnaryFn::sin:
      return std::sin(x);
    case UnaryFn::cos:
      return std::cos(x);
    case UnaryFn::tan:
      return std::tan(x);
    case UnaryFn::asin:
      return std::asin(x);
    case UnaryFn::acos:
      return std::acos(x);
    case UnaryFn::atan:
      return std::atan(x);
    case UnaryFn::sinh:
      return std::sinh(x);
    case UnaryFn::cosh:
      return std::cosh(x);
    case UnaryFn::asinh:
      return std::asinh(x);
    case UnaryFn::acosh:
      return std::acosh(x);
    case UnaryFn::atanh:
      return std::atanh(x);
    case UnaryFn::erf:
      return std::erf(x);
    case UnaryFn::floor:
      return std::floor(x);
    case UnaryFn::ceil:
      return std::ceil(x);
    case UnaryFn::round:
      return std::nearbyint(x);  // half to even, as in Python
    case UnaryFn::trunc:
      return std::trunc(x);
    case UnaryFn::sign:
      return sign(x);
    case UnaryFn::clip:
      return clip(x, a, function.b);
    case UnaryFn::float8_e4m3fn:
      return float8_e4m3fn(x);
    case UnaryFn::logical_not:
      return x == 0.0 ? 1.0 : 0.0;
    case UnaryFn::isnan:
      return std::isnan(x) ? 1.0 : 0.0;
    case UnaryFn::isinf:
      return std::isinf(x) ? 1.0 : 0.0;
    case UnaryFn::isfinite:
      return std::isfinite(x) ? 1.0 : 0.0;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace attn::backends
