// What functions of one or two numbers cost in arithmetic; how operations are counted stands in flops.cpp.
#pragma once

#include <cstdint>

#include "attn/graph/op.h"

namespace attn::graph {

[[nodiscard]] std::int64_t cost_of(const Unary& op);
[[nodiscard]] std::int64_t cost_of(BinaryFn fn);
[[nodiscard]] std::int64_t cost_of_derivative(const Unary& op);

}  // namespace attn::graph
