// Nodes that need no work or no memory of their own. Private to the module.
#pragma once

#include "attn/graph/graph.h"

namespace attn::plan {

/// Returns whether the node returns the bytes of its first input unchanged: a Reshape, a Transpose that only moves axes
/// of size 1, a Slice of everything. All shapes must be known.
[[nodiscard]] bool is_view(const graph::Graph& graph, const graph::Node& node);

/// Returns whether the node can write its result over input `i`, provided nobody reads that input later. True for
/// elementwise functions: element i of the result depends on element i of each input of its shape. For Binary it is the
/// first input, or either one if it is commutative, for kernels that can only overwrite their first operand.
[[nodiscard]] bool can_overwrite(const graph::Graph& graph, const graph::Node& node, std::size_t i);

}  // namespace attn::plan
