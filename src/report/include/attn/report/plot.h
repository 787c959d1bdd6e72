// The graph of a model's layers, as an image or as source text for one.
#pragma once

#include <string>
#include <vector>

#include "attn/keras/summary.h"
#include "attn/report/format.h"

namespace attn::report {

inline constexpr int kNoParent = -1;

/// A layer. Names may contain any characters.
struct PlotNode {
  std::string name, class_name;
  std::string output_shape;  ///< the shape in Keras's form: "(None, 50, 512)"
  keras::Count params = 0;
  bool built = true;       ///< false: the parameters of the layer are not yet known
  int parent = kNoParent;  ///< index of the enclosing nested model, which precedes the node
  bool is_opened = false;  ///< a nested model whose layers are also nodes
};

/// A tensor that one call of a layer computes and another layer reads.
struct PlotEdge {
  int from = 0, to = 0;  ///< indices of nodes, which have the same parent
  int call = 0;          ///< index of the call of `from`
  int tensor = 0;        ///< index of the tensor in the results of that call
};

/// A graph whose nodes with the same parent are in execution order.
struct PlotGraph {
  std::string name, class_name;
  std::vector<PlotNode> nodes;
  std::vector<PlotEdge> edges;
  keras::Count total_params = 0;
};

/// svg: a document in the reader's light or dark theme, from top to bottom; png: the same in the light theme; dot;
/// mermaid; json ("attn.plot/1")
[[nodiscard]] std::string render(Format format, const PlotGraph& graph);

}  // namespace attn::report
