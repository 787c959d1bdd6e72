// The arithmetic cost of unary and binary functions; flops.cpp defines how operations are counted.
#pragma once

#include <cstdint>

#include "attn/graph/op.h"

namespace attn::graph {

[[nodiscard]] std::int64_t cost_of(const Unary& op);
[[nodiscard]] std::int64_t cost_of(BinaryFn fn);
[[nodiscard]] std::int64_t cost_of_derivative(const Unary& op);

}  // namespace attn::graph
