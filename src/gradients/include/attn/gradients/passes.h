// Rewrites of a graph, for what looks at gradients: graph in, graph out. Values keep their ids.
#pragma once

#include <cstddef>

#include "attn/graph/graph.h"

namespace attn::gradients {

/// Weights become inputs, behind those that the graph has and in their order, under their paths: for numbers that
/// change from run to run.
[[nodiscard]] graph::Graph release_weights(graph::Graph graph);

/// All floating-point numbers are float64: inputs, weights and constants too. Casts between them change nothing then.
[[nodiscard]] graph::Graph in_float64(graph::Graph graph);

/// For less memory: of the first `forward` nodes, those of a transformer's layer or of another part of the model keep
/// only what the next part reads, and are there once more, before the first node of the gradient that reads anything
/// else of them. All numbers stay the same.
[[nodiscard]] graph::Graph recompute(graph::Graph graph, std::size_t forward);

}  // namespace attn::gradients
