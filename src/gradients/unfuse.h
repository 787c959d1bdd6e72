// What a forward graph must keep for its gradient. Private to the room.
#pragma once

#include <vector>

#include "attn/graph/graph.h"

namespace attn::gradients {

/// Activations of Linear and Conv, and the residual of a Linear behind one, become nodes of their own, so that what the
/// activation was taken of is there, and Attention also gives its logarithms. Only of nodes that give one of the values
/// marked in `depends`. All values keep their ids.
[[nodiscard]] graph::Graph unfuse(graph::Graph graph, const std::vector<bool>& depends);

}  // namespace attn::gradients
