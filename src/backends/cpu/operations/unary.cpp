#include "unary.h"

#include "attn/backends/reference.h"
#include "kernel.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

using graph::Unary;
using graph::UnaryFn;

void copy(const Unary&, const float* x, float* y, std::int64_t size) {
  if (x != y) std::copy_n(x, size, y);
}

void by_reference(const Unary& function, const float* x, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = static_cast<float>(apply(function, static_cast<double>(x[i])));
}

// The comparison is false for NaN, so NaN is kept.
ATTN_VECTORIZED(void, relu, const Unary&, const float* x, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = x[i] < 0.0F ? 0.0F : x[i];
}

ATTN_VECTORIZED(void, clip, const Unary& function, const float* x, float* y, std::int64_t size) {
  const auto low = static_cast<float>(function.a), high = static_cast<float>(function.b);
  for (std::int64_t i = 0; i < size; ++i) {
    const float raised = x[i] < low ? low : x[i];
    y[i] = raised > high ? high : raised;
  }
}

ATTN_VECTORIZED(void, sigmoid, const Unary&, const float* x, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = sigmoid_of(x[i]);
}

ATTN_VECTORIZED(void, hyperbolic_tangent, const Unary&, const float* x, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = tanh_of(x[i]);
}

ATTN_VECTORIZED(void, silu, const Unary&, const float* x, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = x[i] * sigmoid_of(x[i]);
}

ATTN_VECTORIZED(void, gelu, const Unary&, const float* x, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; i += kLanes) {
    Lanes numbers;
    load_some(x + i, size - i, numbers);
    gelu_of(numbers, numbers);
    store_some(numbers, size - i, y + i);
  }
}

ATTN_VECTORIZED(void, elu, const Unary& function, const float* x, float* y, std::int64_t size) {
  const auto alpha = static_cast<float>(function.a);
  for (std::int64_t i = 0; i < size; ++i) {
    const float below = alpha * expm1_of(x[i]);
    y[i] = x[i] > 0.0F ? x[i] : below;
  }
}

ATTN_VECTORIZED(void, selu, const Unary&, const float* x, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const float below = 1.67326324F * expm1_of(x[i]);
    y[i] = 1.05070099F * (x[i] > 0.0F ? x[i] : below);
  }
}

ATTN_VECTORIZED(void, leaky_relu, const Unary& function, const float* x, float* y, std::int64_t size) {
  const auto slope = static_cast<float>(function.a);
  for (std::int64_t i = 0; i < size; ++i) y[i] = x[i] > 0.0F ? x[i] : slope * x[i];
}

ATTN_VECTORIZED(void, gelu_tanh, const Unary&, const float* x, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; i += kLanes) {
    Lanes numbers;
    load_some(x + i, size - i, numbers);
    gelu_tanh_of(numbers, numbers);
    store_some(numbers, size - i, y + i);
  }
}

ATTN_VECTORIZED(void, exponential, const Unary&, const float* x, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = exp_of(x[i]);
}

ATTN_VECTORIZED(void, hard_sigmoid, const Unary& function, const float* x, float* y, std::int64_t size) {
  const float reach = function.a == 0.0 ? 3.0F : static_cast<float>(function.a), whole = 2.0F * reach;
  for (std::int64_t i = 0; i < size; ++i) {
    const float raised = x[i] < -reach ? 0.0F : x[i] + reach;
    y[i] = (raised > whole ? whole : raised) / whole;
  }
}

ATTN_VECTORIZED(void, absolute, const Unary&, const float* x, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = std::abs(x[i]);
}

ATTN_VECTORIZED(void, negative, const Unary&, const float* x, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = -x[i];
}

ATTN_VECTORIZED(void, square, const Unary&, const float* x, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = x[i] * x[i];
}

ATTN_VECTORIZED(void, square_root, const Unary&, const float* x, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = std::sqrt(x[i]);
}

ATTN_VECTORIZED(void, reciprocal, const Unary&, const float* x, float* y, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = 1.0F / x[i];
}

/// Returns whether a relu has neither a threshold nor a maximum.
bool is_leaky(const Unary& f) { return f.b == 0.0 && f.c == std::numeric_limits<double>::infinity(); }

class LoopKernel final : public Kernel {
 public:
  explicit LoopKernel(const Step& step) : loop_(step.op<Unary>()), x_(step.inputs[0]), y_(step.outputs[0]) {
    const double work = loop_.is_vectorized() ? 4.0 : 100.0;
    team_ = step.engine.team_for(work * static_cast<double>(x_.size()));
  }

  void run() override {
    const auto* x = x_.data<float>();
    auto* y = y_.data<float>();
    parallel_ranges(x_.size(), team_,
                    [&](std::int64_t begin, std::int64_t end) { loop_(x + begin, y + begin, end - begin); });
  }
  [[nodiscard]] std::string_view name() const override {
    return loop_.is_vectorized() ? "simple" : "simple, by the reference's function";
  }

 private:
  UnaryLoop loop_;
  Operand x_, y_;
  Team team_;
};

std::string why_not(const StepInfo& step) {
  return step.outputs[0].dtype == DType::float32 ? "" : "no kernel here that gives bool";
}

}  // namespace

bool is_plain_relu(const graph::Unary& function) {
  return function.fn == UnaryFn::relu && function.a == 0.0 && is_leaky(function);
}

UnaryLoop::UnaryLoop(const Unary& function) : function_(function) {
  switch (function.fn) {
    case UnaryFn::linear:
      loop_ = copy;
      return;
    case UnaryFn::relu:
      if (is_plain_relu(function)) {
        loop_ = relu;
        return;
      }
      if (function.a == 0.0 && function.b == 0.0 && function.c > 0.0) {
        function_ = {UnaryFn::clip, 0.0, function.c};
        loop_ = clip;
        return;
      }
      if (is_leaky(function)) {
        loop_ = leaky_relu;
        return;
      }
      break;
    case UnaryFn::clip:
      if (function.a <= function.b) {
        loop_ = clip;
        return;
      }
      break;
    case UnaryFn::hard_tanh:
      function_ = {UnaryFn::clip, -1.0, 1.0};
      loop_ = clip;
      return;
    case UnaryFn::sigmoid:
      loop_ = sigmoid;
      return;
    case UnaryFn::tanh:
      loop_ = hyperbolic_tangent;
      return;
    case UnaryFn::silu:
      loop_ = silu;
      return;
    case UnaryFn::gelu:
      loop_ = gelu;
      return;
    case UnaryFn::gelu_tanh:
      loop_ = gelu_tanh;
      return;
    case UnaryFn::elu:
      loop_ = elu;
      return;
    case UnaryFn::selu:
      loop_ = selu;
      return;
    case UnaryFn::exponential:
      loop_ = exponential;
      return;
    case UnaryFn::hard_sigmoid:
      loop_ = hard_sigmoid;
      return;
    case UnaryFn::absolute:
      loop_ = absolute;
      return;
    case UnaryFn::negative:
      loop_ = negative;
      return;
    case UnaryFn::square:
      loop_ = square;
      return;
    case UnaryFn::sqrt:
      loop_ = square_root;
      return;
    case UnaryFn::reciprocal:
      loop_ = reciprocal;
      return;
    default:
      break;
  }
  loop_ = by_reference;
  vectorized_ = false;
}

std::optional<Eltwise> eltwise_of(const Unary& f) {
  using dnnl::algorithm;
  switch (f.fn) {
    case UnaryFn::relu:
      // oneDNN's relu keeps NaN only with a negative slope, where it compares; without a slope it computes a maximum,
      // which drops NaN.
      if (f.a == 0.0 || !is_leaky(f)) return std::nullopt;
      return Eltwise{algorithm::eltwise_relu, static_cast<float>(f.a)};
    case UnaryFn::gelu_tanh:
      return Eltwise{algorithm::eltwise_gelu_tanh};
    case UnaryFn::silu:
      return Eltwise{algorithm::eltwise_swish, 1.0F};
    case UnaryFn::sigmoid:
      return Eltwise{algorithm::eltwise_logistic};
    case UnaryFn::tanh:
      return Eltwise{algorithm::eltwise_tanh};
    case UnaryFn::softplus:
      return Eltwise{algorithm::eltwise_soft_relu, 1.0F};
    case UnaryFn::mish:
      return Eltwise{algorithm::eltwise_mish};
    default:
      return std::nullopt;
  }
}

Kernels kernels_of(const Unary&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::float32, why_not, no_memory, make_as<LoopKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
