// Reverse-mode differentiation: extends a graph that computes a loss by its gradients.
#pragma once

#include <span>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::gradients {

struct Differentiated {
  graph::Graph graph;
  /// The gradient of each requested value, with the value's shape and dtype. graph::kNone if no path of differentiable
  /// operations leads from the value to the loss.
  std::vector<graph::ValueId> gradients;
  /// The number of nodes before those of the gradients.
  std::size_t forward = 0;
};

/// Appends to a graph of known shapes the nodes that compute the gradients of `loss`, a floating-point scalar, with
/// respect to the values `wanted`. The values of the graph keep their ids, and its outputs are unchanged. If several
/// nodes read a value, their contributions are added from the last reader to the first. At points without a derivative
/// the result is that of Keras on TensorFlow. For example, relu has 0 at 0, and a maximum of equal arguments passes
/// everything to the first. The nodes of a gradient belong to the layer of the forward node.
///
/// Throws Error (bad_input), naming the layer and the operation, if the loss depends on a value through an operation
/// without a gradient. Throws the same if the loss is not a scalar.
[[nodiscard]] Differentiated differentiate(graph::Graph graph, graph::ValueId loss,
                                           std::span<const graph::ValueId> wanted);

}  // namespace attn::gradients
