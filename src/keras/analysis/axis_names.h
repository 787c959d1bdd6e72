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

/// Names by weight and by value; "a|b" means a, or b if a already has another size.
struct KnownAxes {
  std::map<std::int32_t, std::vector<std::string>> of_weight;
  std::map<graph::ValueId, std::vector<std::string>> of_value;
};

class AxisNames {
 public:
  /// `symbols` are those that already have a meaning. All arguments must outlive this.
  AxisNames(const graph::Graph& graph, const Owners& owners, const std::vector<Symbol>& symbols, KnownAxes& known)
      : graph_(graph), owners_(owners), symbols_(symbols), known_(known) {}

  /// A name for each axis; "" for an unnamed one.
  [[nodiscard]] const std::vector<std::string>& of(graph::ValueId id);
  /// The name of a factor in the operation count of `node`.
  [[nodiscard]] std::string of(const graph::Node& node, const graph::Factor& factor);
  /// Names the results of `node`, and for keras.layers.Attention and AdditiveAttention (`attends`) its inputs.
  void pass(const graph::Node& node, bool attends);

 private:
  using Words = std::vector<std::string>;
  [[nodiscard]] const Shape& shape(graph::ValueId id) const { return graph_.value(id).shape; }
  [[nodiscard]] Words of_weight(std::int32_t weight, const Shape& shape) const;
  [[nodiscard]] Words of_input(const Shape& shape) const;
  /// Names the last axes of an unnamed value, and B as its first axis.
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
