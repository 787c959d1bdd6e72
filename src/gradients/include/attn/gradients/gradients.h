// From a graph that computes a loss to one that also computes how the loss changes with its values.
#pragma once

#include <span>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::gradients {

struct Differentiated {
  graph::Graph graph;
  /// For each of the values that were asked for, the gradient: it has the value's shape and dtype. graph::kNone where
  /// no path of differentiable operations leads from the value to the loss.
  std::vector<graph::ValueId> gradients;
  /// How many of the graph's nodes come before those of the gradients.
  std::size_t forward = 0;
};

/// Appends to a graph of known shapes the nodes that compute the gradients of `loss`, a floating-point number, with
/// respect to the values `wanted`. The values of the graph keep their ids; its outputs stay as they are. Where several
/// nodes read a value, what comes back from them is added up in the order from the last to the first. Where a function
/// has no derivative, it is the one that Keras on TensorFlow gives: relu has 0 at 0, all of a maximum's goes to the
/// first of two equal arguments. A node that belongs to a layer passes it on to the nodes of its gradient.
///
/// Throws Error (bad_input), naming the layer and the operation, where the loss depends on a value by an operation
/// that has no gradient, and where the loss is no single number.
[[nodiscard]] Differentiated differentiate(graph::Graph graph, graph::ValueId loss,
                                           std::span<const graph::ValueId> wanted);

}  // namespace attn::gradients
