// What a model is made of, down to the projections of its attention layers, beside the graph that it becomes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::keras {

class Layer;

/// A layer or operation of a model, a layer inside one, or a group of variables of a layer with a name of its own
/// ("query"). What a layer does beside its parts is a part too, without variables and calls.
struct Part {
  std::string name;
  std::string class_name;  ///< empty for what is no layer of ours
  int level = 0;           ///< 0 at the top; the parts of a part follow it, one level deeper
  bool nested = false;     ///< the parts around it are models
  bool operation = false;
  bool rest = false;  ///< what the part around it does itself
  /// Its own variables, as indices into Graph::weights, and their names in it.
  std::vector<std::int32_t> weights;
  std::vector<std::string> weight_names;
  /// Its calls. A group of variables has none: its operations are those of the layer around it that read them.
  std::vector<graph::LayerId> calls;
  std::vector<Shape> output_shapes;  ///< what its last call gave
  Layer* layer = nullptr;            ///< for this room; null where it is no layer. Lives as long as the model
};

struct Anatomy {
  graph::Graph graph;
  std::vector<Part> parts;
};

/// Which part does what: of each node that of its layer, or the group of variables in it that the node reads, or the
/// layer's rest.
class Owners {
 public:
  explicit Owners(const Anatomy& anatomy);

  /// The part around, or graph::kNone.
  [[nodiscard]] std::int32_t parent(std::int32_t part) const { return parent_[static_cast<std::size_t>(part)]; }
  /// "block/dense", "multi_head_attention/query".
  [[nodiscard]] const std::string& path(std::int32_t part) const { return paths_[static_cast<std::size_t>(part)]; }
  /// The part of a node of the graph, or of one that passes made of it; graph::kNone where there is none.
  [[nodiscard]] std::int32_t of(const graph::Node& node) const;
  /// The weight that alone, or with constants, makes this value: a cast or a view of it; graph::kNone where none does.
  [[nodiscard]] std::int32_t weight(graph::ValueId value) const { return weight_[static_cast<std::size_t>(value)]; }

 private:
  void trace_weights(const graph::Graph& graph);

  std::vector<std::int32_t> parent_, rest_;         // by part
  std::vector<std::string> paths_;                  // by part
  std::vector<bool> is_group_;                      // by part: variables that the layer around reads
  std::vector<std::int32_t> of_layer_, of_weight_;  // by layer and weight of the graph
  std::vector<std::int32_t> weight_;                // by value
};

}  // namespace attn::keras
