#include "cost.h"

namespace attn::graph {

std::int64_t cost_of(const Unary& op) {
  switch (op.fn) {
    case UnaryFn::linear:
    case UnaryFn::hard_tanh:
    case UnaryFn::hard_shrink:
    case UnaryFn::threshold:
    case UnaryFn::absolute:
    case UnaryFn::negative:
    case UnaryFn::floor:
    case UnaryFn::ceil:
    case UnaryFn::round:
    case UnaryFn::trunc:
    case UnaryFn::sign:
    case UnaryFn::clip:
    case UnaryFn::logical_not:
    case UnaryFn::isnan:
    case UnaryFn::isinf:
    case UnaryFn::isfinite:
      return 0;
    case UnaryFn::tanh:
    case UnaryFn::exponential:
    case UnaryFn::soft_shrink:  // x ± a
    case UnaryFn::expm1:
    case UnaryFn::log:
    case UnaryFn::log1p:
    case UnaryFn::log2:
    case UnaryFn::log10:
    case UnaryFn::sqrt:
    case UnaryFn::square:
    case UnaryFn::reciprocal:
    case UnaryFn::sin:
    case UnaryFn::cos:
    case UnaryFn::tan:
    case UnaryFn::asin:
    case UnaryFn::acos:
    case UnaryFn::atan:
    case UnaryFn::sinh:
    case UnaryFn::cosh:
    case UnaryFn::asinh:
    case UnaryFn::acosh:
    case UnaryFn::atanh:
    case UnaryFn::erf:
      return 1;
    case UnaryFn::relu:
      return op.a == 0.0 ? 0 : 2;  // a·(x − b)
    case UnaryFn::elu:             // a·(eˣ − 1)
    case UnaryFn::softsign:        // x/(1 + |x|)
    case UnaryFn::tanh_shrink:
    case UnaryFn::sparse_sigmoid:  // ½·(x + 1)
    case UnaryFn::rsqrt:
    case UnaryFn::float8_e4m3fn:  // x/step·step
      return 2;
    case UnaryFn::sigmoid:      // 1/(1 + e⁻ˣ)
    case UnaryFn::selu:         // c·a·(eˣ − 1)
    case UnaryFn::softplus:     // max(x, 0) + log1p(e^−|x|)
    case UnaryFn::log_sigmoid:  // −softplus(−x)
      return 3;
    case UnaryFn::silu:
    case UnaryFn::celu:          // max(0, x) + a·(e^(x/a) − 1)
    case UnaryFn::gelu:          // ½·x·erfc(−x/√2)
    case UnaryFn::hard_sigmoid:  // (x + a)/2a, whose 2a bounds it too
    case UnaryFn::sparse_plus:   // ¼·(x + 1)·(x + 1)
      return 4;
    case UnaryFn::mish:        // x·tanh(softplus(x))
    case UnaryFn::squareplus:  // (x + √(x² + a))/2
    case UnaryFn::hard_silu:
      return 5;
    case UnaryFn::gelu_tanh:
      return 9;  // ½·x·(1 + tanh(c·(x + d·x·x·x)))
  }
  return 1;
}

std::int64_t cost_of(BinaryFn fn) {
  if (fn == BinaryFn::mod) return 2;  // a remainder of the wrong sign is shifted
  const bool chooses = fn == BinaryFn::maximum || fn == BinaryFn::minimum;
  return chooses || fn >= BinaryFn::equal ? 0 : 1;
}

std::int64_t cost_of_derivative(const Unary& op) {
  switch (op.fn) {
    case UnaryFn::linear:
    case UnaryFn::relu:
    case UnaryFn::hard_tanh:
    case UnaryFn::hard_shrink:
    case UnaryFn::soft_shrink:
    case UnaryFn::threshold:
    case UnaryFn::sparse_sigmoid:
    case UnaryFn::absolute:
    case UnaryFn::negative:
    case UnaryFn::floor:
    case UnaryFn::ceil:
    case UnaryFn::round:
    case UnaryFn::trunc:
    case UnaryFn::sign:
    case UnaryFn::clip:
    case UnaryFn::float8_e4m3fn:
    case UnaryFn::logical_not:
    case UnaryFn::isnan:
    case UnaryFn::isinf:
    case UnaryFn::isfinite:
      return 0;
    case UnaryFn::exponential:
    case UnaryFn::expm1:
    case UnaryFn::hard_sigmoid:  // 1/2a
    case UnaryFn::log:
    case UnaryFn::square:
    case UnaryFn::sin:
    case UnaryFn::cos:
    case UnaryFn::sinh:
    case UnaryFn::cosh:
      return 1;
    case UnaryFn::elu:
    case UnaryFn::tanh_shrink:
    case UnaryFn::sparse_plus:
    case UnaryFn::log1p:
    case UnaryFn::log2:
    case UnaryFn::log10:
    case UnaryFn::reciprocal:
      return 2;
    case UnaryFn::celu:
    case UnaryFn::selu:
    case UnaryFn::tanh:
    case UnaryFn::softplus:
    case UnaryFn::softsign:
    case UnaryFn::log_sigmoid:
    case UnaryFn::sqrt:
    case UnaryFn::tan:
    case UnaryFn::atan:
    case UnaryFn::atanh:
    case UnaryFn::erf:
      return 3;
    case UnaryFn::asin:
    case UnaryFn::acos:
    case UnaryFn::asinh:
    case UnaryFn::acosh:
      return 4;
    case UnaryFn::sigmoid:
    case UnaryFn::rsqrt:
      return 5;
    case UnaryFn::silu:  // s + x·s·(1 − s)
    case UnaryFn::hard_silu:
    case UnaryFn::squareplus:
      return 7;
    case UnaryFn::gelu:  // Φ(x) + x·φ(x)
      return 9;
    case UnaryFn::mish:  // t + x·(1 − t²)·s
      return 12;
    case UnaryFn::gelu_tanh:
      return 18;
  }
  return 1;
}

}  // namespace attn::graph
