// Unary functions, with parameters in the type of the computation.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "attn/graph/formulas.h"
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

namespace formula = graph::formula;

/// Returns f(x), with 1 and 0 for true and false. It is not inlined, because it is long, and one copy per kernel file
/// is enough.
template <typename N>
static __device__ __attribute__((noinline)) N apply(const Function<N>& f, N x) {
  return formula::value(f.fn, x, f.a, f.b, f.c);
}

}  // namespace attn::cuda
