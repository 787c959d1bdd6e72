// Values and derivatives of the functions of one number, as listed in unary_functions.h. The forms are Keras's where
// infinities and NaN depend on them. The reference backend computes in double; CUDA compiles the same text for the
// device.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

#include "attn/graph/op.h"

#ifdef __CUDACC__
#define ATTN_FORMULA __device__ __forceinline__
#else
#define ATTN_FORMULA inline
#endif

namespace attn::graph::formula {

inline constexpr double kSeluScale = 1.0507009873554804934;
inline constexpr double kSeluAlpha = 1.6732632423543772848;

/// Returns x itself if it is NaN.
template <typename N>
ATTN_FORMULA N clip(N x, N low, N high) {
  if (x != x) return x;
  const N raised = x < low ? low : x;
  return high < raised ? high : raised;
}

template <typename N>
ATTN_FORMULA N relu(N x, N slope, N threshold, N max_value) {
  if (x > threshold) return max_value < x ? max_value : x;
  // Keras clears values that are not above a threshold by a comparison, which also clears NaN; without a threshold NaN
  // stays.
  if (slope == N(0)) return x != x && threshold == N(0) ? x : N(0);
  return slope * (x - threshold);
}

/// Three mantissa bits; below 2^-6 the step is 2^-9.
template <typename N>
ATTN_FORMULA N float8_e4m3fn(N x) {
  if (x != x || x == N(0)) return x;
  if (std::abs(x) >= N(448)) return x < N(0) ? N(-448) : N(448);
  const int exponent = std::ilogb(x);
  const N step = std::ldexp(N(1), (exponent < -6 ? -6 : exponent) - 3);
  return std::rint(x / step) * step;
}

template <typename N>
ATTN_FORMULA N sigmoid(N x) {
  return N(1) / (N(1) + std::exp(-x));
}

template <typename N>
ATTN_FORMULA N softplus(N x) {
  return x != x ? x : (x > N(0) ? x : N(0)) + std::log1p(std::exp(-std::abs(x)));
}

template <typename N>
ATTN_FORMULA N hard_sigmoid(N x, N reach = N(3)) {
  return clip(x + reach, N(0), N(2) * reach) / (N(2) * reach);
}

template <typename N>
ATTN_FORMULA N gelu(N x) {
  return N(0.5) * x * std::erfc(-x * N(0.70710678118654752440));
}

template <typename N>
ATTN_FORMULA N gelu_tanh(N x) {
  const N inner = N(0.79788456080286535588) * (x + N(0.044715) * x * x * x);
  return N(0.5) * x * (N(1) + std::tanh(inner));
}

template <typename N>
ATTN_FORMULA N elu(N x, N alpha) {
  return x > N(0) ? x : alpha * std::expm1(x);
}

template <typename N>
ATTN_FORMULA N selu(N x) {
  return N(kSeluScale) * elu(x, N(kSeluAlpha));
}

template <typename N>
ATTN_FORMULA N mish(N x) {
  return x * std::tanh(softplus(x));
}

/// (x + √(x² + a)) / 2, in double: in float it cancels completely for large negative x.
template <typename N>
ATTN_FORMULA N squareplus(N x, N a) {
  const auto wide = static_cast<double>(x);
  return static_cast<N>((wide + std::sqrt(wide * wide + static_cast<double>(a))) / 2.0);
}

template <typename N>
ATTN_FORMULA N soft_shrink(N x, N threshold) {
  if (x > threshold) return x - threshold;
  if (x < -threshold) return x + threshold;
  return N(0);
}

template <typename N>
ATTN_FORMULA N sparse_plus(N x) {
  if (x <= N(-1)) return N(0);
  return x < N(1) ? N(0.25) * (x + N(1)) * (x + N(1)) : x;
}

template <typename N>
ATTN_FORMULA N sparse_sigmoid(N x) {
  if (x <= N(-1)) return N(0);
  return x >= N(1) ? N(1) : N(0.5) * (x + N(1));
}

template <typename N>
ATTN_FORMULA N sign(N x) {
  if (x != x) return x;
  return x > N(0) ? N(1) : x < N(0) ? N(-1) : N(0);
}

/// Returns f(x); 1 and 0 for true and false. N is float or double, and a, b, c are the parameters of Unary.
template <typename N>
ATTN_FORMULA N value(UnaryFn fn, N x, N a, N b, N c) {
  const N infinity = std::numeric_limits<N>::infinity();
  switch (fn) {
    case UnaryFn::linear:
      return x;
    case UnaryFn::relu:
      return relu(x, a, b, c);
    case UnaryFn::elu:
      return elu(x, a);
    case UnaryFn::celu: {
      if (x != x) return x;
      return (x > N(0) ? x : N(0)) + a * std::expm1((x < N(0) ? x : N(0)) / a);
    }
    case UnaryFn::selu:
      return selu(x);
    case UnaryFn::gelu:
      return gelu(x);
    case UnaryFn::gelu_tanh:
      return gelu_tanh(x);
    case UnaryFn::silu:
      return x * sigmoid(x);
    case UnaryFn::sigmoid:
      return sigmoid(x);
    case UnaryFn::tanh:
      return std::tanh(x);
    case UnaryFn::softplus:
      return softplus(x);
    case UnaryFn::softsign:
      return x / (N(1) + std::abs(x));
    case UnaryFn::exponential:
      return std::exp(x);
    case UnaryFn::hard_sigmoid:
      return a == N(0) ? hard_sigmoid(x) : hard_sigmoid(x, a);
    case UnaryFn::hard_silu:
      return x * hard_sigmoid(x);
    case UnaryFn::hard_tanh:
      return clip(x, N(-1), N(1));
    case UnaryFn::log_sigmoid:
      return x != x ? x : -softplus(-x);
    case UnaryFn::mish:
      return mish(x);
    case UnaryFn::hard_shrink:
      return std::abs(x) > a ? x : N(0);
    case UnaryFn::soft_shrink:
      return soft_shrink(x, a);
    case UnaryFn::tanh_shrink:
      return x - std::tanh(x);
    case UnaryFn::threshold:
      return x > a ? x : b;
    case UnaryFn::squareplus:
      return squareplus(x, a);
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
      return N(1) / std::sqrt(x);
    case UnaryFn::square:
      return x * x;
    case UnaryFn::reciprocal:
      return N(1) / x;
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
      return std::rint(x);  // half to even, as in Python
    case UnaryFn::trunc:
      return std::trunc(x);
    case UnaryFn::sign:
      return sign(x);
    case UnaryFn::clip:
      return clip(x, a, b);
    case UnaryFn::float8_e4m3fn:
      return float8_e4m3fn(x);
    case UnaryFn::logical_not:
      return x == N(0) ? N(1) : N(0);
    case UnaryFn::isnan:
      return x != x ? N(1) : N(0);
    case UnaryFn::isinf:
      return std::abs(x) == infinity ? N(1) : N(0);
    case UnaryFn::isfinite:
      return std::abs(x) < infinity ? N(1) : N(0);
  }
  return std::numeric_limits<N>::quiet_NaN();
}

#ifndef __CUDACC__

/// Keras implements the upper bound by relu6 if possible, whose slope at 6 is 0, otherwise by clip, whose slope at a
/// bound is 1. With a threshold or a bound the lower part is −a·relu(b − x), with slope 0 at b.
inline double relu_slope(const graph::Unary& op, double x) {
  const bool plain = op.b == 0.0;
  if (x > op.b) return x < op.c || (x == op.c && !(plain && op.c == 6.0)) ? 1.0 : 0.0;
  return x == op.b && !(plain && std::isinf(op.c)) ? 0.0 : op.a;
}

/// Φ(x) + x·φ(x)
inline double gelu_slope(double x) {
  const double density = std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
  return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * density;
}

inline double gelu_tanh_slope(double x) {
  const double scale = std::sqrt(2.0 / std::numbers::pi);
  const double t = std::tanh(scale * (x + 0.044715 * x * x * x));
  const double slope = scale * (1.0 + 0.134145 * x * x);
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope;
}

inline double silu_slope(double x) {
  const double s = sigmoid(x);
  return s + x * s * (1.0 - s);
}

inline double mish_slope(double x) {
  const double t = std::tanh(softplus(x));
  return t + x * (1.0 - t * t) * sigmoid(x);
}

inline double hard_sigmoid_slope(double x, double reach) { return std::abs(x) < reach ? 0.5 / reach : 0.0; }

inline double one_over_root(double x) { return 1.0 / std::sqrt(x); }

inline bool inside(double x, double low, double high) { return x >= low && x <= high; }

/// Returns f'(x). At a kink the value is TensorFlow's: that of Keras's formula, differentiated step by step.
inline double derivative(const Unary& function, double x) {
  const double a = function.a;
  switch (function.fn) {
    case UnaryFn::linear:
      return 1.0;
    case UnaryFn::relu:
      return relu_slope(function, x);
    case UnaryFn::elu:
      return x > 0.0 ? 1.0 : a * std::exp(x);
    case UnaryFn::celu:  // both of its halves have a slope of 1 at 0
      return (x < 0.0 ? 0.0 : 1.0) + (x > 0.0 ? 0.0 : std::exp(x / a));
    case UnaryFn::selu:
      return x < 0.0 ? kSeluScale * kSeluAlpha * std::exp(x) : kSeluScale;
    case UnaryFn::gelu:
      return gelu_slope(x);
    case UnaryFn::gelu_tanh:
      return gelu_tanh_slope(x);
    case UnaryFn::silu:
      return silu_slope(x);
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
      return hard_sigmoid_slope(x, a == 0.0 ? 3.0 : a);
    case UnaryFn::hard_silu:
      return hard_sigmoid(x) + x * hard_sigmoid_slope(x, 3.0);
    case UnaryFn::hard_tanh:
      return inside(x, -1.0, 1.0) ? 1.0 : 0.0;
    case UnaryFn::log_sigmoid:
      return sigmoid(-x);
    case UnaryFn::mish:
      return mish_slope(x);
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
      return 0.5 * (clip<double>(x, -1.0, 1.0) + 1.0);
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

#endif

}  // namespace attn::graph::formula
