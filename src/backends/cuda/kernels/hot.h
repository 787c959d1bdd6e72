// The unary functions that models use most, inlined into fast kernels. The other functions use the plain kernels.
#pragma once

#include <cmath>

#include "function.h"
#include "hot_functions.h"
#include "ptx.h"
#include "simt.h"

namespace attn::cuda {

/// Computes 0.5·x·erfc(−x/√2) without a branch, for results that are rounded to half precision. erfc(z)·exp(z²) is
/// t·P(t) for t = 1/(1 + 0.44·z), with a polynomial P. Its relative error is below 8e-6 for z up to 7 (Lawson's fit;
/// the form is Abramowitz and Stegun 7.1.26).
__device__ __forceinline__ float gelu_of_half(float x) {
  const float z = std::abs(x) * 0.70710678F, t = ptx::reciprocal(fmaf(0.44F, z, 1.0F));
  float sum = -0.14958747F;
  sum = fmaf(sum, t, 0.36150831F);
  sum = fmaf(sum, t, 0.02787017F);
  sum = fmaf(sum, t, 0.27074033F);
  sum = fmaf(sum, t, 0.24072947F);
  sum = fmaf(sum, t, 0.24873257F);
  const float tail = 0.5F * t * sum * ptx::exp2(-1.44269504F * z * z);
  return x * (x < 0.0F ? tail : 1.0F - tail);
}

/// Applies a hot function, x[j] = f(x[j]), to numbers that are stored as Stored. The dispatch happens once for all of
/// x.
template <typename Stored, int kCount>
__device__ __forceinline__ void apply_hot(const Function<float>& f, float (&x)[kCount]) {
  using graph::UnaryFn;
  const auto each = [&x](auto function) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) x[j] = function(x[j]);
  };
  switch (f.fn) {
    case UnaryFn::relu:
      return each([&](float v) { return formula::relu(v, f.a, f.b, f.c); });
    case UnaryFn::elu:
      return each([&](float v) { return formula::elu(v, f.a); });
    case UnaryFn::selu:
      return each([](float v) { return formula::selu(v); });
    case UnaryFn::gelu:
      if constexpr (sizeof(Stored) == 2) return each([](float v) { return gelu_of_half(v); });
      return each([](float v) { return formula::gelu(v); });
    case UnaryFn::gelu_tanh:
      return each([](float v) { return formula::gelu_tanh(v); });
    case UnaryFn::silu:
      return each([](float v) { return v * formula::sigmoid(v); });
    case UnaryFn::sigmoid:
      return each([](float v) { return formula::sigmoid(v); });
    case UnaryFn::tanh:
      return each([](float v) { return std::tanh(v); });
    case UnaryFn::softplus:
      return each([](float v) { return formula::softplus(v); });
    case UnaryFn::exponential:
      return each([](float v) { return std::exp(v); });
    case UnaryFn::hard_sigmoid:
      return each([&](float v) { return formula::hard_sigmoid(v, f.a == 0.0F ? 3.0F : f.a); });
    case UnaryFn::hard_silu:
      return each([](float v) { return v * formula::hard_sigmoid(v); });
    case UnaryFn::mish:
      return each([](float v) { return formula::mish(v); });
    case UnaryFn::absolute:
      return each([](float v) { return std::abs(v); });
    case UnaryFn::negative:
      return each([](float v) { return -v; });
    case UnaryFn::log:
      return each([](float v) { return std::log(v); });
    case UnaryFn::sqrt:
      return each([](float v) { return std::sqrt(v); });
    case UnaryFn::rsqrt:
      return each([](float v) { return 1.0F / std::sqrt(v); });
    case UnaryFn::square:
      return each([](float v) { return v * v; });
    case UnaryFn::reciprocal:
      return each([](float v) { return 1.0F / v; });
    case UnaryFn::erf:
      return each([](float v) { return std::erf(v); });
    case UnaryFn::clip:
      return each([&](float v) { return formula::clip(v, f.a, f.b); });
    default:
      return;
  }
}

}  // namespace attn::cuda
