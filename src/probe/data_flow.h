// Producers, readers and descent of the values of a graph. Private to the module.
#pragma once

#include <vector>

#include "attn/graph/graph.h"

namespace attn::probe {

/// Returns whether the operation of a node is one of these.
template <typename... Ops>
[[nodiscard]] bool is_any_of(const graph::Node& node) {
  return (std::holds_alternative<Ops>(node.op) || ...);
}
[[nodiscard]] bool is_addition(const graph::Node& node);
/// Returns whether the node is a product that sums over an axis.
[[nodiscard]] bool is_contraction(const graph::Node& node);

/// The graph must outlive this, and not change.
class DataFlow {
 public:
  explicit DataFlow(const graph::Graph& graph);

  /// Returns the node that computes a value; null for inputs, weights and constants.
  [[nodiscard]] const graph::Node* producer(graph::ValueId value) const;
  /// Returns the nodes that read a value, in order.
  [[nodiscard]] const std::vector<graph::NodeId>& readers(graph::ValueId value) const {
    return readers_[graph::at(value)];
  }
  /// Returns the first node that reads a value; null if none does.
  [[nodiscard]] const graph::Node* first_reader(graph::ValueId value) const;
  /// Returns whether a value depends only on weights and constants.
  [[nodiscard]] bool is_fixed(graph::ValueId value) const { return fixed_[graph::at(value)]; }

  /// Returns the only input of a node that is not fixed; kNone if there are none or several.
  [[nodiscard]] graph::ValueId only_varying_input(const graph::Node& node) const;
  /// Returns the value that casts made this one of.
  [[nodiscard]] graph::ValueId without_casts(graph::ValueId value) const;

  /// Returns for each value whether it is `value` or is computed from it.
  [[nodiscard]] std::vector<bool> descendants(graph::ValueId value) const;
  /// Returns for each value whether it is `value` or is needed to compute it.
  [[nodiscard]] std::vector<bool> ancestors(graph::ValueId value) const;
  /// Returns the floating-point values that descendants of `value` read, and that neither descend from it nor are fixed
  /// or inputs. With them and `value` given, everything behind `value` can be computed. Integers are left out: indices
  /// may count the rows of a batch.
  [[nodiscard]] std::vector<graph::ValueId> frontier(graph::ValueId value) const;

 private:
  const graph::Graph& graph_;
  std::vector<graph::NodeId> producer_;
  std::vector<std::vector<graph::NodeId>> readers_;
  std::vector<bool> fixed_;
};

}  // namespace attn::probe
