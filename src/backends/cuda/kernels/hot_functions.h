// The list of unary functions that fast kernels have code for (hot.h).
#pragma once

#include "attn/graph/op.h"

namespace attn::cuda {

[[nodiscard]] inline bool is_hot(graph::UnaryFn fn) {
  using graph::UnaryFn;
  switch (fn) {
    case UnaryFn::linear:
    case UnaryFn::relu:
    case UnaryFn::elu:
    case UnaryFn::selu:
    case UnaryFn::gelu:
    case UnaryFn::gelu_tanh:
    case UnaryFn::silu:
    case UnaryFn::sigmoid:
    case UnaryFn::tanh:
    case UnaryFn::softplus:
    case UnaryFn::exponential:
    case UnaryFn::hard_sigmoid:
    case UnaryFn::hard_silu:
    case UnaryFn::mish:
    case UnaryFn::absolute:
    case UnaryFn::negative:
    case UnaryFn::log:
    case UnaryFn::sqrt:
    case UnaryFn::rsqrt:
    case UnaryFn::square:
    case UnaryFn::reciprocal:
    case UnaryFn::erf:
    case UnaryFn::clip:
      return true;
    default:
      return false;
  }
}

}  // namespace attn::cuda
