// The parts of a model, down to the projections of its attention layers, and their relation to the graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::keras {

class Layer;

/// A layer or operation of a model, a sublayer, or a named group of variables of a layer ("query"). The operations of a
/// layer that belong to none of its parts are also a part, without variables and calls.
struct Part {
  std::string name;
  std::string class_name;  ///< empty if the part is not a layer
  int level = 0;           ///< 0 at the top; the parts of a part follow it, one level deeper
  bool nested = false;     ///< the enclosing parts are models
  bool operation = false;
  bool rest = false;  ///< the operations of the enclosing part that belong to none of its other parts
  /// The part's own variables, as indices into Graph::weights, and their names in the part.
  std::vector<std::int32_t> weights;
  std::vector<std::string> weight_names;
  /// The part's calls. A group of variables has none: its operations belong to the enclosing layer and read these
  /// variables.
  std::vector<graph::LayerId> calls;
  std::vector<Shape> output_shapes;  ///< shapes of the results of the part's last call
  Layer* layer = nullptr;  ///< for this module only; null if the part is not a layer. Valid as long as the model
};

struct Anatomy {
  graph::Graph graph;
  std::vector<Part> parts;
};

/// Assigns each node to a part: the group of variables that the node reads, otherwise the layer of the node, or that
/// layer's rest.
class Owners {
 public:
  explicit Owners(const Anatomy& anatomy);

  /// Returns the index of the enclosing part; graph::kNone for an outermost part.
  [[nodiscard]] std::int32_t parent(std::int32_t part) const { return parent_[static_cast<std::size_t>(part)]; }
  /// Returns the names of the enclosing layer and the part: "block/dense", "multi_head_attention/query".
  [[nodiscard]] const std::string& path(std::int32_t part) const { return paths_[static_cast<std::size_t>(part)]; }
  /// Returns the part of a node of the graph, or of a node that passes derived from it; graph::kNone if there is none.
  [[nodiscard]] std::int32_t of(const graph::Node& node) const;
  /// Returns the weight from which this value is computed, possibly with constants, such as a cast or a view of a
  /// weight. Returns graph::kNone if there is none.
  [[nodiscard]] std::int32_t weight(graph::ValueId value) const { return weight_[static_cast<std::size_t>(value)]; }

 private:
  void trace_weights(const graph::Graph& graph);

  std::vector<std::int32_t> parent_, rest_;  // for each part, the enclosing part and the inner part with Part::rest
  std::vector<std::string> paths_;           // for each part, its path
  std::vector<bool> is_group_;               // whether a part is a group of variables that the enclosing layer reads
  std::vector<std::int32_t> of_layer_, of_weight_;  // the parts of the graph's layers and weights
  std::vector<std::int32_t> weight_;                // for each value, the weight from which it is computed
};

}  // namespace attn::keras
