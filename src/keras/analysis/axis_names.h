// Derives the names of the axes of a layer's values from those of its weights.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/keras/anatomy.h"
#include "attn/keras/symbol.h"

namespace attn::keras {

/// Names of axes by weight and by value. "a|b" means a, or b if a already names another size.
struct KnownAxes {
  std::map<std::int32_t, std::vector<std::string>> of_weight;
  std::map<graph::ValueId, std::vector<std::string>> of_value;
};

class AxisNames {
 public:
  /// `symbols` are the symbols that already have a meaning. All arguments must outlive the AxisNames.
  AxisNames(const graph::Graph& graph, const Owners& owners, const std::vector<Symbol>& symbols, KnownAxes& known)
      : graph_(graph), owners_(owners), symbols_(symbols), known_(known) {}

  /// Returns a name for each axis of a value; "" for an unnamed axis.
  [[nodiscard]] const std::vector<std::string>& of(graph::ValueId id);
  /// Returns the name of a factor in the operation count of `node`; "" if it has none.
  [[nodiscard]] std::string of(const graph::Node& node, const graph::Factor& factor);
  /// Names the results of `node`. If `attends` (keras.layers.Attention and AdditiveAttention), also names its inputs.
  void pass(const graph::Node& node, bool attends);

 private:
  using Words = std::vector<std::string>;
  [[nodiscard]] const Shape& shape(graph::ValueId id) const { return graph_.value(id).shape; }
  [[nodiscard]] Words of_weight(std::int32_t weight, const Shape& shape) const;
  [[nodiscard]] Words of_input(const Shape& shape) const;
  /// Names the last axes of the value `last`, its first axis "B", and the axes between "". Does nothing for a weight.
  void name_last(graph::ValueId id, const Words& last);
  void name_operands(const graph::Node& node);
  [[nodiscard]] Words of_output(const graph::Node& node);
  [[nodiscard]] Words of_windows(const graph::Node& node, const std::string& channels);
  [[nodiscard]] Words of_same_shape(const graph::Node& node);

  const graph::Graph& graph_;
  const Owners& owners_;
  const std::vector<Symbol>& symbols_;
  KnownAxes& known_;
};

/// Returns whether the node is query + key for every pair of positions: (B,T,1,D) + (B,1,S,D).
[[nodiscard]] bool is_pairwise(const graph::Graph& graph, const graph::Node& node);

}  // namespace attn::keras
