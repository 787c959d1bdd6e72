// The unary functions with a derivative, for the cases of operations and of gradients.
#pragma once

#include <limits>
#include <vector>

#include "attn/graph/op.h"

namespace attn::test {

/// Returns the functions of any number, with their parameters. Functions of positive numbers, or of an interval, are in
/// the tables that draw such numbers.
[[nodiscard]] inline std::vector<graph::Unary> functions_with_slopes() {
  using graph::UnaryFn;
  constexpr double kNoBound = std::numeric_limits<double>::infinity();
  return {{UnaryFn::relu, 0.0, 0.0, kNoBound},
          {UnaryFn::relu, 0.2, 0.5, 2.0},
          {UnaryFn::elu, 1.0},
          {UnaryFn::celu, 1.5},
          {UnaryFn::selu},
          {UnaryFn::gelu},
          {UnaryFn::gelu_tanh},
          {UnaryFn::silu},
          {UnaryFn::sigmoid},
          {UnaryFn::tanh},
          {UnaryFn::softplus},
          {UnaryFn::softsign},
          {UnaryFn::exponential},
          {UnaryFn::hard_sigmoid},
          {UnaryFn::hard_silu},
          {UnaryFn::hard_tanh},
          {UnaryFn::log_sigmoid},
          {UnaryFn::mish},
          {UnaryFn::hard_shrink, 0.5},
          {UnaryFn::soft_shrink, 0.5},
          {UnaryFn::tanh_shrink},
          {UnaryFn::threshold, 0.3, 7.0},
          {UnaryFn::squareplus, 4.0},
          {UnaryFn::sparse_plus},
          {UnaryFn::sparse_sigmoid},
          {UnaryFn::absolute},
          {UnaryFn::negative},
          {UnaryFn::expm1},
          {UnaryFn::square},
          {UnaryFn::reciprocal},
          {UnaryFn::sin},
          {UnaryFn::cos},
          {UnaryFn::tan},
          {UnaryFn::atan},
          {UnaryFn::sinh},
          {UnaryFn::cosh},
          {UnaryFn::asinh},
          {UnaryFn::erf},
          {UnaryFn::clip, -0.5, 0.7}};
}

}  // namespace attn::test
