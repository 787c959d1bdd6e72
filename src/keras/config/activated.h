// Activations of integer values.
#pragma once

#include "attn/graph/graph.h"

namespace attn::keras {

/// Applies an elementwise activation with TensorFlow's dtypes. Integers keep their dtype through relu, and become
/// float32 through a leaky relu, exp and tanh. Throws Error (bad_input) for other activations of integers, which Keras
/// rejects.
[[nodiscard]] inline graph::ValueId activated(graph::Builder& builder, const graph::Unary& unary, graph::ValueId x) {
  using graph::UnaryFn;
  const DType dtype = builder.dtype(x);
  const bool leaky = unary.fn == UnaryFn::relu && unary.a != 0.0 && dtype != DType::boolean;
  if (!is_floating(dtype) && (leaky || unary.fn == UnaryFn::exponential || unary.fn == UnaryFn::tanh))
    x = builder.cast(x, DType::float32);
  return builder.apply(unary, {x});
}

}  // namespace attn::keras
