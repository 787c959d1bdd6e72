// Where everything of a plot stands: what its SVG and a page draw alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/report/json.h"
#include "attn/report/plot.h"
#include "layered.h"

namespace attn::report {

struct DrawnNode {
  const PlotNode* node = nullptr;
  std::string kind;  ///< "input", "attention", …: a class of the style sheet
  Point corner;      ///< the left upper one
  Size size;
  std::vector<std::string> title;  ///< all of it, for a tip
  std::vector<std::string> lines;  ///< name, class and parameters, shape; cut to fit
};

struct DrawnEdge {
  std::string path;  ///< the "d" of an SVG path
  bool is_backward = false;
  bool head_at_start = false;  ///< the arrow's; else at the end
};

/// Measures are CSS pixels. Boxes stand before what is in them.
struct DrawnPlot {
  std::vector<DrawnNode> nodes;
  std::vector<DrawnEdge> edges;
  Size size;
};

/// What a layer does, by its class: "attention", …, a class of the style sheet, for its colour.
[[nodiscard]] std::string layer_kind(std::string_view class_name);

inline constexpr double kLineHeight = 15, kNodePadding = 9, kMargin = 16;
inline constexpr double kTextLeft = 12, kFirstLine = 21;  ///< of a box's text, from its corner
inline constexpr double kCell = 7.25;                     ///< the width of a letter of a 12 pixel monospaced font

[[nodiscard]] DrawnPlot draw(const PlotGraph& graph);

/// {"width", "height", "nodes": [{kind, x, y, width, height, title, lines}], "edges": [{path, backward,
/// head_at_start}]}, for a page.
[[nodiscard]] Json drawn_json(const DrawnPlot& plot);

}  // namespace attn::report
