// The layers of a model and what flows between them, as a picture or as the text of a picture.
#pragma once

#include <string>
#include <vector>

#include "attn/keras/summary.h"
#include "attn/report/format.h"

namespace attn::report {

inline constexpr int kNoParent = -1;

/// A layer. Names may hold anything.
struct PlotNode {
  std::string name, class_name;
  std::string output_shape;  ///< "(None, 50, 512)"
  keras::Count params = 0;
  bool built = true;       ///< else its parameters are not known yet
  int parent = kNoParent;  ///< the nested model around it, which stands before it
  bool is_opened = false;  ///< a nested model whose layers are nodes too
};

/// A tensor that one call of a layer gives and another layer reads.
struct PlotEdge {
  int from = 0, to = 0;  ///< indices into the nodes; both have the same parent
  int call = 0;          ///< of `from`
  int tensor = 0;        ///< of that call's results
};

/// Nodes with the same parent stand in the order in which they run.
struct PlotGraph {
  std::string name, class_name;
  std::vector<PlotNode> nodes;
  std::vector<PlotEdge> edges;
  keras::Count total_params = 0;
};

/// svg: a document of its own, light or dark as its reader prefers, from top to bottom; png: the same on light paper;
/// dot; mermaid; json ("attn.plot/1")
[[nodiscard]] std::string render(Format format, const PlotGraph& graph);

}  // namespace attn::report
