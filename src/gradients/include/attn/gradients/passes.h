// Graph passes for tools that inspect gradients: graph in, graph out. Values keep their ids.
#pragma once

#include <cstddef>

#include "attn/graph/graph.h"

namespace attn::gradients {

/// Turns weights into inputs, named by their paths, after the existing inputs and in the order of the weights: for
/// weights that change between runs.
[[nodiscard]] graph::Graph release_weights(graph::Graph graph);

/// Splits dense maps, convolutions, gelu and attention in half precision into the steps that Keras computes, each of
/// which rounds. A training then has Keras's values. Attention with many scores remains one operation.
[[nodiscard]] graph::Graph in_half_steps(graph::Graph graph);

/// Makes all floating-point values float64, including inputs, weights and constants. Casts between them are no-ops.
[[nodiscard]] graph::Graph in_float64(graph::Graph graph);

/// Recomputes activations to save memory (gradient checkpointing). Each part of the first `forward` nodes, such as a
/// transformer layer, keeps only the values that the next part reads. Its other nodes are repeated before the first
/// node of the gradient that reads their results. All numbers stay the same.
[[nodiscard]] graph::Graph recompute(graph::Graph graph, std::size_t forward);

}  // namespace attn::gradients
