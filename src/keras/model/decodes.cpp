#include "classes/ops/expression.h"
#include "model/autoregressive.h"

namespace attn::keras {

using graph::ValueId;

ValueId last_position(graph::Builder& b, ValueId x) {
  const Dim length = b.shape(x)[1];
  graph::Slice last;
  last.ranges = {{}, {length - 1, length, 1}, {}};
  return b.apply(last, {x});
}

ValueId soft_capped(graph::Builder& b, ValueId x, double cap) {
  return (Expression(b, x) / cap).unary(graph::UnaryFn::tanh) * cap;
}

}  // namespace attn::keras
