// Unary functions as listed by graph::Unary. The formulas and their treatment of NaN and infinity are the reference
// backend's (src/backends/reference/unary.cpp).
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "attn/graph/op.h"
#include "simt.h"

namespace attn::cuda {

/// A graph::Unary whose parameters have the type of the computation: float or double.
template <typename Number>
struct Function {
  graph::UnaryFn fn = graph::UnaryFn::linear;
  Number a{}, b{}, c{};
};

template <typename Number>
[[nodiscard]] Function<Number> function_of(const graph::Unary& op) {
  const auto nearest = [](double x) { return static_cast<Number>(x); };
  // For a Number x, x > t is equivalent to x > (t rounded down to a Number).
  const auto threshold = [](double t) {
    const auto rounded = static_cast<Number>(t);
    return static_cast<double>(rounded) > t ? std::nextafter(rounded, -std::numeric_limits<Number>::infinity())
                                            : rounded;
  };
  switch (op.fn) {
    case graph::UnaryFn::relu:
      return {op.fn, nearest(op.a), threshold(op.b), nearest(op.c)};
    case graph::UnaryFn::hard_shrink:
    case graph::UnaryFn::threshold:
      return {op.fn, threshold(op.a), nearest(op.b), nearest(op.c)};
    default:
      return {op.fn, nearest(op.a), nearest(op.b), nearest(op.c)};
  }
}

namespace formula {

// CUDA overloads the functions of std for float and double.

/// Returns x itself if it is NaN.
template <typename N>
__device__ __forceinline__ N clip(N x, N low, N high) {
  if (x != x) return x;
  const N raised = x < low ? low : x;
  return high < raised ? high : raised;
}

template <typename N>
__device__ __forceinline__ N relu(N x, N slope, N threshold, N max_value) {
  if (x > threshold) return max_value < x ? max_value : x;
  // Keras clears values that are not above a threshold by a comparison, which also clears NaN; without a threshold NaN
  // stays.
  if (slope == N(0)) return x != x && threshold == N(0) ? x : N(0);
  return slope * (x - threshold);
}

/// Three mantissa bits; below 2^-6 the step is 2^-9.
template <typename N>
__device__ __forceinline__ N float8_e4m3fn(N x) {
  if (x != x || x == N(0)) return x;
  if (std::abs(x) >= N(448)) return x < N(0) ? N(-448) : N(448);
  const int exponent = std::ilogb(x);
  const N step = std::ldexp(N(1), (exponent < -6 ? -6 : exponent) - 3);
  return std::rint(x / step) * step;
}

template <typename N>
__device__ __forceinline__ N sigmoid(N x) {
  return N(1) / (N(1) + std::exp(-x));
}

template <typename N>
__device__ __forceinline__ N softplus(N x) {
  return x != x ? x : (x > N(0) ? x : N(0)) + std::log1p(std::exp(-std::abs(x)));
}

template <typename N>
__device__ __forceinline__ N hard_sigmoid(N x, N reach = N(3)) {
  return clip(x + reach, N(0), N(2) * reach) / (N(2) * reach);
}

template <typename N>
__device__ __forceinline__ N gelu(N x) {
  return N(0.5) * x * std::erfc(-x * N(0.70710678118654752440));
}

template <typename N>
__device__ __forceinline__ N gelu_tanh(N x) {
  const N inner = N(0.79788456080286535588) * (x + N(0.044715) * x * x * x);
  return N(0.5) * x * (N(1) + std::tanh(inner));
}

template <typename N>
__device__ __forceinline__ N elu(N x, N alpha) {
  return x > N(0) ? x : alpha * std::expm1(x);
}

template <typename N>
__device__ __forceinline__ N selu(N x) {
  return N(1.0507009873554804934) * elu(x, N(1.6732632423543772848));
}

template <typename N>
__device__ __forceinline__ N mish(N x) {
  return x * std::tanh(softplus(x));
}

/// (x + √(x² + a)) / 2, in double: in float it cancels completely for large negative x.
template <typename N>
__device__ __forceinline__ N squareplus(N x, N a) {
  const auto wide = static_cast<double>(x);
  return static_cast<N>((wide + std::sqrt(wide * wide + static_cast<double>(a))) / 2.0);
}

template <typename N>
__device__ __forceinline__ N soft_shrink(N x, N threshold) {
  if (x > threshold) return x - threshold;
  if (x < -threshold) return x + threshold;
  return N(0);
}

template <typename N>
__device__ __forceinline__ N sparse_plus(N x) {
  if (x <= N(-1)) return N(0);
  return x < N(1) ? N(0.25) * (x + N(1)) * (x + N(1)) : x;
}

template <typename N>
__device__ __forceinline__ N sparse_sigmoid(N x) {
  if (x <= N(-1)) return N(0);
  return x >= N(1) ? N(1) : N(0.5) * (x + N(1));
}

template <typename N>
__device__ __forceinline__ N sign(N x) {
  if (x != x) return x;
  return x > N(0) ? N(1) : x < N(0) ? N(-1) : N(0);
}

}  // namespace formula

/// Returns f(x); 1 and 0 for true and false. Not inlined: it is long, and one copy per kernel file is enough.
template <typename N>
static __device__ __attribute__((noinline)) N apply(const Function<N>& f, N x) {
  using graph::UnaryFn;
  const N infinity = std::numeric_limits<N>::infinity();
  switch (f.fn) {
    case UnaryFn::linear:
      return x;
    case UnaryFn::relu:
      return formula::relu(x, f.a, f.b, f.c);
    case UnaryFn::elu:
      return formula::elu(x, f.a);
    case UnaryFn::celu: {
      if (x != x) return x;
      return (x > N(0) ? x : N(0)) + f.a * std::expm1((x < N(0) ? x : N(0)) / f.a);
    }
    case UnaryFn::selu:
      return formula::selu(x);
    case UnaryFn::gelu:
      return formula::gelu(x);
    case UnaryFn::gelu_tanh:
      return formula::gelu_tanh(x);
    case UnaryFn::silu:
      return x * formula::sigmoid(x);
    case UnaryFn::sigmoid:
      return formula::sigmoid(x);
    case UnaryFn::tanh:
      return std::tanh(x);
    case UnaryFn::softplus:
      return formula::softplus(x);
    case UnaryFn::softsign:
      return x / (N(1) + std::abs(x));
    case UnaryFn::exponential:
      return std::exp(x);
    case UnaryFn::hard_sigmoid:
      return f.a == N(0) ? formula::hard_sigmoid(x) : formula::hard_sigmoid(x, f.a);
    case UnaryFn::hard_silu:
      return x * formula::hard_sigmoid(x);
    case UnaryFn::hard_tanh:
      return formula::clip(x, N(-1), N(1));
    case UnaryFn::log_sigmoid:
      return x != x ? x : -formula::softplus(-x);
    case UnaryFn::mish:
      return formula::mish(x);
    case UnaryFn::hard_shrink:
      return std::abs(x) > f.a ? x : N(0);
    case UnaryFn::soft_shrink:
      return formula::soft_shrink(x, f.a);
    case UnaryFn::tanh_shrink:
      return x - std::tanh(x);
    case UnaryFn::threshold:
      return x > f.a ? x : f.b;
    case UnaryFn::squareplus:
      return formula::squareplus(x, f.a);
    case UnaryFn::sparse_plus:
      return formula::sparse_plus(x);
    case UnaryFn::sparse_sigmoid:
      return formula::sparse_sigmoid(x);
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
      return formula::sign(x);
    case UnaryFn::clip:
      return formula::clip(x, f.a, f.b);
    case UnaryFn::float8_e4m3fn:
      return formula::float8_e4m3fn(x);
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

}  // namespace attn::cuda
