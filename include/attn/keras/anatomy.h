// What a model is made of, down to the projections of its attention layers, beside the graph that it becomes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::keras {

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
  std::vector<Shape> output_shapes;  ///< of its last call
};

struct Anatomy {
  graph::Graph graph;
  std::vector<Part> parts;
};

}  // namespace attn::keras
