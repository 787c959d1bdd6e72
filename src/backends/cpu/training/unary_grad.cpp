// Gradients of unary functions: dy·f'(x).
#include <algorithm>
#include <cmath>

#include "attn/backends/reference.h"
#include "kernel.h"
#include "operations/convert.h"
#include "operations/unary.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

using graph::Unary;
using graph::UnaryFn;

using Slope = void (*)(const Unary& function, const float* x, const float* dy, float* dx, std::int64_t size);

void slope_by_reference(const Unary& function, const float* x, const float* dy, float* dx, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i)
    dx[i] = static_cast<float>(static_cast<double>(dy[i]) * derivative(function, static_cast<double>(x[i])));
}

/// dx = dy·f(x), where f transforms 16 numbers in place.
template <typename Function>
[[gnu::always_inline]] inline void multiply_by(const float* x, const float* dy, float* dx, std::int64_t size,
                                               const Function& f) {
  for (std::int64_t i = 0; i < size; i += kLanes) {
    Lanes numbers, factors;
    load_some(x + i, size - i, numbers);
    load_some(dy + i, size - i, factors);
    f(numbers);
    numbers *= factors;
    store_some(numbers, size - i, dx + i);
  }
}

#define ATTN_SLOPE(name, ...)                                                                                     \
  ATTN_VECTORIZED(void, name, [[maybe_unused]] const Unary& function, const float* x, const float* dy, float* dx, \
                  std::int64_t size) {                                                                            \
    [[maybe_unused]] const auto a = static_cast<float>(function.a), b = static_cast<float>(function.b);           \
    multiply_by(x, dy, dx, size, [=](Lanes & v) __attribute__((always_inline)) __VA_ARGS__);                      \
  }

/// Computes e^(−|x|).
[[gnu::always_inline]] inline void decay_of(const Lanes& x, Lanes& to) {
  exp2_below_0((x < 0.0F ? x : -x) * 1.44269504F, to);
}

ATTN_SLOPE(relu_slope, { v = v > 0.0F ? Lanes{} + 1.0F : Lanes{}; })
ATTN_SLOPE(leaky_slope, { v = v > 0.0F ? Lanes{} + 1.0F : Lanes{} + a; })
ATTN_SLOPE(inside_slope, { v = (v >= a) & (v <= b) ? Lanes{} + 1.0F : Lanes{}; })
ATTN_SLOPE(square_slope, { v = 2.0F * v; })
ATTN_SLOPE(sigmoid_slope, {
  Lanes e;
  decay_of(v, e);
  const Lanes whole = 1.0F + e;
  v = e / (whole * whole);
})
ATTN_SLOPE(tanh_slope, {
  Lanes e;
  decay_of(2.0F * v, e);
  const Lanes whole = 1.0F + e;
  v = 4.0F * e / (whole * whole);
})
ATTN_SLOPE(silu_slope, {
  Lanes e;
  decay_of(v, e);
  const Lanes whole = 1.0F + e, share = 1.0F / whole;
  v = (v < 0.0F ? e * share : share) + v * (e * share * share);
})
ATTN_SLOPE(softplus_slope, {
  Lanes e;
  decay_of(v, e);
  v = (v < 0.0F ? e : Lanes{} + 1.0F) / (1.0F + e);
})
/// Φ(x) + x·φ(x)
ATTN_SLOPE(gelu_slope, {
  Lanes tail, power;
  erfc_of(v, tail, power);
  tail *= 0.5F;
  v = (v < 0.0F ? tail : 1.0F - tail) + v * (0.398942280F * power);
})
/// With s = (1 + tanh u)/2 it is s + x·s·(1 − s)·2u'.
ATTN_SLOPE(gelu_tanh_slope, {
  const Lanes square = v * v, twice = v * (1.59576912F + 0.0713548163F * square);
  Lanes e;
  decay_of(twice, e);
  const Lanes share = 1.0F / (1.0F + e);
  const Lanes bend = v * (e * share * share) * (1.59576912F + 0.214064449F * square);
  v = (twice < 0.0F ? e * share : share) + (e == 0.0F ? Lanes{} : bend);
})

ATTN_VECTORIZED(void, exponential_slope, const Unary&, const float* x, const float* dy, float* dx, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) dx[i] = dy[i] * exp_of(x[i]);
}
ATTN_VECTORIZED(void, elu_slope, const Unary& function, const float* x, const float* dy, float* dx, std::int64_t size) {
  const auto alpha = static_cast<float>(function.a);
  for (std::int64_t i = 0; i < size; ++i) {
    const float below = alpha * exp_of(x[i]);
    dx[i] = dy[i] * (x[i] > 0.0F ? 1.0F : below);
  }
}
ATTN_VECTORIZED(void, absolute_slope, const Unary&, const float* x, const float* dy, float* dx, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const float slope = x[i] > 0.0F ? 1.0F : -1.0F;
    dx[i] = dy[i] * (x[i] == 0.0F || x[i] != x[i] ? x[i] : slope);
  }
}
ATTN_VECTORIZED(void, log_slope, const Unary&, const float* x, const float* dy, float* dx, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) dx[i] = dy[i] * (1.0F / x[i]);
}
ATTN_VECTORIZED(void, reciprocal_slope, const Unary&, const float* x, const float* dy, float* dx, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) dx[i] = dy[i] * (-1.0F / (x[i] * x[i]));
}

#undef ATTN_SLOPE

/// Returns the loop for the function, and sets the fields of the function that the loop reads; null if there is none.
Slope slope_of(Unary& function) {
  switch (function.fn) {
    case UnaryFn::relu: {
      const bool leaky = function.b == 0.0 && std::isinf(function.c);
      return is_plain_relu(function) ? relu_slope : leaky ? leaky_slope : nullptr;
    }
    case UnaryFn::clip:
      return inside_slope;
    case UnaryFn::hard_tanh:
      function = {UnaryFn::clip, -1.0, 1.0};
      return inside_slope;
    case UnaryFn::square:
      return square_slope;
    case UnaryFn::sigmoid:
      return sigmoid_slope;
    case UnaryFn::tanh:
      return tanh_slope;
    case UnaryFn::silu:
      return silu_slope;
    case UnaryFn::softplus:
      return softplus_slope;
    case UnaryFn::gelu:
      return gelu_slope;
    case UnaryFn::gelu_tanh:
      return gelu_tanh_slope;
    case UnaryFn::exponential:
      return exponential_slope;
    case UnaryFn::elu:
      return elu_slope;
    case UnaryFn::absolute:
      return absolute_slope;
    case UnaryFn::log:
      return log_slope;
    case UnaryFn::reciprocal:
      return reciprocal_slope;
    default:
      return nullptr;
  }
}

class SlopeKernel final : public Kernel {
 public:
  explicit SlopeKernel(const Step& step)
      : slope_(step.op<graph::UnaryGrad>().forward), x_(step.inputs[0]), dy_(step.inputs[1]), dx_(step.outputs[0]) {
    const double work = slope_.is_vectorized() ? 6.0 : 100.0;
    team_ = step.engine.team_for(work * static_cast<double>(x_.size()));
  }

  void run() override {
    parallel_ranges(x_.size(), team_, [&](std::int64_t begin, std::int64_t end) {
      if (x_.dtype == DType::float32) {
        slope_(x_.data<float>() + begin, dy_.data<float>() + begin, dx_.data<float>() + begin, end - begin);
      } else {
        run_of_halves(begin, end);
      }
    });
  }
  [[nodiscard]] std::string_view name() const override {
    return slope_.is_vectorized() ? "simple" : "simple, by the reference's function";
  }

 private:
  /// Processes bfloat16 numbers in chunks of float32 in the L1 cache.
  void run_of_halves(std::int64_t begin, std::int64_t end) const {
    constexpr std::int64_t kSome = 1024;
    float x[kSome], dy[kSome];
    for (std::int64_t i = begin; i < end; i += kSome) {
      const std::int64_t count = std::min(kSome, end - i);
      widen(DType::bfloat16, x_.data<std::uint16_t>() + i, x, count);
      widen(DType::bfloat16, dy_.data<std::uint16_t>() + i, dy, count);
      slope_(x, dy, dy, count);
      narrow(DType::bfloat16, dy, dx_.data<std::uint16_t>() + i, count);
    }
  }

  SlopeLoop slope_;
  Operand x_, dy_, dx_;
  Team team_;
};

}  // namespace

SlopeLoop::SlopeLoop(const Unary& function)
    : function_(function), loop_(slope_of(function_)), vectorized_(loop_ != nullptr) {
  if (!vectorized_) loop_ = slope_by_reference;
}

Kernels kernels_of(const graph::UnaryGrad&) {
  static constexpr KernelInfo kKernels[] = {
      {KernelDType::float32_or_bfloat16, takes_all, no_memory, make_as<SlopeKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
