// The functions of one number that models apply everywhere, as code that is inlined into fast kernels; the others have
// the plain kernels.
#pragma once

#include <cmath>

#include "function.h"
#include "hot_functions.h"
#include "simt.h"

namespace attn::cuda {

/// x[j] = f(x[j]) for a hot function. The choice is made once for all of x.
template <int kCount>
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
