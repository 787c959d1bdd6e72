#include "cost.h"

namespace attn::graph {

std::int64_t cost_of(const Unary& op) {
  const bool selects = op.fn == UnaryFn::relu && op.a == 0.0;  // such a relu needs no multiplication by a slope
  return selects ? 0 : record_of(op.fn).cost;
}

std::int64_t cost_of(BinaryFn fn) {
  if (fn == BinaryFn::mod) return 2;  // a remainder with the wrong sign costs an addition
  const bool chooses = fn == BinaryFn::maximum || fn == BinaryFn::minimum;
  return chooses || fn >= BinaryFn::equal ? 0 : 1;
}

std::int64_t cost_of_derivative(const Unary& op) { return record_of(op.fn).derivative_cost; }

}  // namespace attn::graph
