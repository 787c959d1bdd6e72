// Runs a graph and counts the operations of the reference backend.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::test {

/// The floating-point operations of every node, for drawn inputs and weights: normal numbers, token 1, masks that are
/// all true.
[[nodiscard]] std::vector<std::int64_t> count_operations(const graph::Graph& graph);

/// The same for one node with normal numbers.
[[nodiscard]] std::int64_t count_operations(const graph::Op& op, const std::vector<Shape>& shapes);

}  // namespace attn::test
