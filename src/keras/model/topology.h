// The order in which Keras traverses a functional graph (keras/src/ops/function.py, map_graph).
#pragma once

#include <cstddef>
#include <vector>

namespace attn::keras {

/// A call: `operation` is an index of the model's operations, `index` one of its calls.
struct NodeKey {
  int operation = 0;
  int index = 0;
  friend bool operator==(const NodeKey&, const NodeKey&) = default;
};

struct Topology {
  std::vector<int> operations;                 ///< the rows of a summary: by decreasing depth, ties in traversal order
  std::vector<std::vector<NodeKey>> by_depth;  ///< deepest first: the execution order
  std::vector<std::vector<int>> calls;         ///< for each operation, the calls in by_depth, ascending
};

/// Thrown for a cycle, with one of its nodes.
struct CycleAt {
  NodeKey node;
};

/// Sorts a functional graph. `parents[op][index]` are the calls whose results a call reads, in order of its arguments.
/// `outputs` are the calls that compute the model's outputs, `inputs` the operations of its input layers. Calls that no
/// output needs are omitted. Throws CycleAt.
[[nodiscard]] Topology map_graph(const std::vector<std::vector<std::vector<NodeKey>>>& parents,
                                 const std::vector<int>& inputs, const std::vector<NodeKey>& outputs);

}  // namespace attn::keras
