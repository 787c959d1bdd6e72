// The order in which Keras walks a functional graph (keras/src/ops/function.py, map_graph).
#pragma once

#include <cstddef>
#include <vector>

namespace attn::keras {

/// A call: `operation` indexes the model's operations, `index` its calls.
struct NodeKey {
  int operation = 0;
  int index = 0;
  friend bool operator==(const NodeKey&, const NodeKey&) = default;
};

struct Topology {
  std::vector<int> operations;                 ///< by decreasing depth, ties by traversal order: the rows of a summary
  std::vector<std::vector<NodeKey>> by_depth;  ///< deepest first: the order of execution
  std::vector<std::vector<int>> calls;         ///< for each operation the calls that by_depth holds, ascending
};

/// A cycle was found at this node.
struct CycleAt {
  NodeKey node;
};

/// `parents[op][index]` are the calls whose results a call reads, in order of its arguments; `outputs` the calls that
/// give the model's outputs; `inputs` the operations of its input layers. Calls that no output needs are left out.
/// Throws CycleAt.
[[nodiscard]] Topology map_graph(const std::vector<std::vector<std::vector<NodeKey>>>& parents,
                                 const std::vector<int>& inputs, const std::vector<NodeKey>& outputs);

}  // namespace attn::keras
