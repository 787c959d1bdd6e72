// Derivatives of unary functions. At a kink the value is TensorFlow's: that of Keras's formula, differentiated step by
// step.
#include <cmath>
#include <limits>
#include <numbers>

#include "attn/backends/reference.h"
#include "functions.h"
#include "kernels.h"
#include "numbers.h"

namespace attn::backends {
namespace {

using graph::UnaryFn;
using namespace reference;  // functions.h

/// Keras implements the upper bound by relu6 if possible, whose slope at 6 is 0, otherwise by clip, whose slope at a
/// bound is 1. With a threshold or a bound the lower part is −a·relu(b − x), with slope 0 at b.
double relu(const graph::Unary& op, double x) {
  const bool plain = op.b == 0.0;
  if (x > op.b) return x < op.c || (x == op.c && !(plain && op.c == 6.0)) ? 1.0 : 0.0;
  return x == op.b && !(plain && std::isinf(op.c)) ? 0.0 : op.a;
}

/// Φ(x) + x·φ(x)
double gelu(double x) {
  const double density = std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
  return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * density;
}

double gelu_tanh(double x) {
  const double scale = std::sqrt(2.0 / std::numbers::pi);
  const double t = std::tanh(scale * (x + 0.044715 * x * x * x));
  const double slope = scale * (1.0 + 0.134145 * x * x);
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope;
}

double silu(double x) {
  const double s = sigmoid(x);
  return s + x * s * (1.0 - s);
}

double mish(double x) {
  const double t = std::tanh(softplus(x));
  return t + x * (1.0 - t * t) * sigmoid(x);
}

double hard_sigmoid_slope(double x, double reach) { return std::abs(x) < reach ? 0.5 / reach : 0.0; }

double one_over_root(double x) { return 1.0 / std::sqrt(x); }

bool inside(double x, double low, double high) { return x >= low && x <= high; }

}  // namespace

double derivative(const graph::Unary& function, double x) {
  const double a = function.a;
  switch (function.fn) {
    case UnaryFn::linear:
      return 1.0;
    case UnaryFn::relu:
      return relu(function, x);
    case UnaryFn::elu:
      return x > 0.0 ? 1.0 : a * std::exp(x);
    case UnaryFn::celu:  // both of its halves have a slope of 1 at 0
      return (x < 0.0 ? 0.0 : 1.0) + (x > 0.0 ? 0.0 : std::exp(x / a));
    case UnaryFn::selu:
      return x < 0.0 ? kSeluScale * kSeluAlpha * std::exp(x) : kSeluScale;
    case UnaryFn::gelu:
      return gelu(x);
    case UnaryFn::gelu_tanh:
      return gelu_tanh(x);
    case UnaryFn::silu:
      return silu(x);
    case UnaryFn::sigmoid: {
      const double s = sigmoid(x);
      return s * (1.0 - s);
    }
    case UnaryFn::tanh: {
      const double t = std::tanh(x);
      return 1.0 - t * t;
    }
    case UnaryFn::softplus:
      return sigmoid(x);
    case UnaryFn::softsign: {
      const double d = 1.0 + std::abs(x);
      return 1.0 / (d * d);
    }
    case UnaryFn::exponential:
    case UnaryFn::expm1:
      return std::exp(x);
    case UnaryFn::hard_sigmoid:
      return hard_sigmoid_slope(x, a == 0.0 ? kHardSigmoidReach : a);
    case UnaryFn::hard_silu:
      return hard_sigmoid(x, kHardSigmoidReach) + x * hard_sigmoid_slope(x, kHardSigmoidReach);
    case UnaryFn::hard_tanh:
      return inside(x, -1.0, 1.0) ? 1.0 : 0.0;
    case UnaryFn::log_sigmoid:
      return sigmoid(-x);
    case UnaryFn::mish:
      return mish(x);
    case UnaryFn::hard_shrink:
    case UnaryFn::soft_shrink:
      return std::abs(x) > a ? 1.0 : 0.0;
    case UnaryFn::tanh_shrink: {
      const double t = std::tanh(x);
      return t * t;
    }
    case UnaryFn::threshold:
      return x > a ? 1.0 : 0.0;
    case UnaryFn::squareplus:
      return 0.5 + 0.5 * x * one_over_root(x * x + a);
    case UnaryFn::sparse_plus:
      return 0.5 * (clip(x, -1.0, 1.0) + 1.0);
    case UnaryFn::sparse_sigmoid:
      return std::abs(x) < 1.0 ? 0.5 : 0.0;
    case UnaryFn::absolute:
      return sign(x);
    case UnaryFn::negative:
      return -1.0;
    case UnaryFn::log:
      return 1.0 / x;
    case UnaryFn::log1p:
      return 1.0 / (1.0 + x);
    case UnaryFn::log2:
      return 1.0 / (x * std::numbers::ln2);
    case UnaryFn::log10:
      return 1.0 / (x * std::numbers::ln10);
    case UnaryFn::sqrt:
      return 0.5 * one_over_root(x);
    case UnaryFn::rsqrt: {
      const double r = one_over_root(x);
      return -0.5 * r * r * r;
    }
    case UnaryFn::square:
      return 2.0 * x;
    case UnaryFn::reciprocal:
      return -1.0 / (x * x);
    case UnaryFn::sin:
      return std::cos(x);
    case UnaryFn::cos:
      return -std::sin(x);
    case UnaryFn::tan: {
      const double t = std::tan(x);
      return 1.0 + t * t;
    }
    case UnaryFn::asin:
      return one_over_root(1.0 - x * x);
    case UnaryFn::acos:
      return -one_over_root(1.0 - x * x);
    case UnaryFn::atan:
      return 1.0 / (1.0 + x * x);
    case UnaryFn::sinh:
      return std::cosh(x);
    case UnaryFn::cosh:
      return std::sinh(x);
    case UnaryFn::asinh:
      return one_over_root(x * x + 1.0);
    case UnaryFn::acosh:
      return one_over_root(x * x - 1.0);
    case UnaryFn::atanh:
      return 1.0 / (1.0 - x * x);
    case UnaryFn::erf:
      return 2.0 * std::numbers::inv_sqrtpi * std::exp(-x * x);
    case UnaryFn::clip:
      return inside(x, a, function.b) ? 1.0 : 0.0;
    case UnaryFn::floor:
    case UnaryFn::ceil:
    case UnaryFn::round:
    case UnaryFn::trunc:
    case UnaryFn::sign:
    case UnaryFn::float8_e4m3fn:
    case UnaryFn::logical_not:
    case UnaryFn::isnan:
    case UnaryFn::isinf:
    case UnaryFn::isfinite:
      return 0.0;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

namespace reference {

void compute(const graph::UnaryGrad& op, Tensors in, Tensors out) {
  auto x = read<double>(in[0]);
  const auto dy = read<double>(in[1]);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = dy[i] * derivative(op.forward, x[i]);
  write(out[0], x);
}

}  // namespace reference
}  // namespace attn::backends
