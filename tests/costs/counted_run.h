// A pass through a graph that counts what the reference backend does.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::test {

/// The floating-point operations of every node, on inputs and weights that are drawn: normal numbers, the token 1,
/// masks that let all through.
[[nodiscard]] std::vector<std::int64_t> count_operations(const graph::Graph& graph);

/// Those of one node on normal numbers.
[[nodiscard]] std::int64_t count_operations(const graph::Op& op, const std::vector<Shape>& shapes);

}  // namespace attn::test
