// Undoes fusions in a forward graph to keep the values that its gradient needs. Private to the module.
#pragma once

#include <vector>

#include "attn/graph/graph.h"

namespace attn::gradients {

/// Turns activations of Linear and Conv, and the residual of a Linear with an activation, into separate nodes, so that
/// the activation's input is available. Also makes Attention return its log-sum-exp. Affects only nodes that produce
/// values marked in `depends`. All values keep their ids.
[[nodiscard]] graph::Graph unfuse(graph::Graph graph, const std::vector<bool>& depends);

}  // namespace attn::gradients
