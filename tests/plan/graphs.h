// Small graphs for the tests of this module.
#pragma once

#include <string>

#include "attn/graph/graph.h"

namespace attn::plan {

/// The value of a weight called `name`.
inline graph::ValueId weight(graph::Builder& build, const std::string& name, Shape shape) {
  graph::WeightSpec spec;
  spec.path = spec.store_path = name;
  spec.shape = std::move(shape);
  return build.weight(spec);
}

/// A new layer, to which the nodes from here on belong.
inline graph::LayerId begin_layer(graph::Builder& build, const std::string& name) {
  build.graph().layers.push_back({name, name, {}});
  build.set_layer(static_cast<graph::LayerId>(build.graph().layers.size() - 1));
  return build.layer();
}

inline void end_layer(graph::Builder& build, graph::ValueId output) {
  build.graph().layers.back().outputs = {output};
  build.set_layer(graph::kNone);
}

inline void output(graph::Builder& build, graph::ValueId value) {
  build.graph().outputs.push_back({"output_" + std::to_string(build.graph().outputs.size()), value});
}

}  // namespace attn::plan
