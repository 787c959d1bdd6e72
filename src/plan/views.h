// Nodes that need no work or no memory of their own. Private to the room.
#pragma once

#include "attn/graph/graph.h"

namespace attn::plan {

/// Does the node give the bytes of its first input as they are: a Reshape, a Transpose that only moves axes of size 1,
/// a Slice of everything? All shapes must be known.
[[nodiscard]] bool is_view(const graph::Graph& graph, const graph::Node& node);

/// Can the node write its result over input `i`, given that nobody reads that input later? True for functions of single
/// numbers: their element i depends on element i of each input of the output's shape. Of Binary it is the first input,
/// or either one where the two may be swapped, so that a kernel which can only overwrite its first operand can do it.
[[nodiscard]] bool can_overwrite(const graph::Graph& graph, const graph::Node& node, std::size_t i);

}  // namespace attn::plan
