// The layout of a plot, for SVG and pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/report/json.h"
#include "attn/report/plot.h"
#include "drawing/layered.h"

namespace attn::report {

struct DrawnNode {
  const PlotNode* node = nullptr;
  std::string kind;  ///< CSS class of the box: "input", "attention", …
  Point corner;      ///< upper left corner
  Size size;
  std::vector<std::string> title;  ///< the full text, for a tooltip
  std::vector<std::string> lines;  ///< name, class and parameters, shape; shortened to fit
};

struct DrawnEdge {
  std::string path;  ///< the "d" of an SVG path
  bool is_backward = false;
  bool head_at_start = false;  ///< whether the arrowhead is at the start of the path; otherwise it is at the end
};

/// Lengths are CSS pixels. Boxes precede their contents.
struct DrawnPlot {
  std::vector<DrawnNode> nodes;
  std::vector<DrawnEdge> edges;
  Size size;
};

/// Returns the kind of a layer, from its class: "attention", …, a CSS class that sets its color.
[[nodiscard]] std::string layer_kind(std::string_view class_name);

inline constexpr double kLineHeight = 15, kNodePadding = 9, kMargin = 16;
inline constexpr double kTextLeft = 12, kFirstLine = 21;  ///< position of a box's text, from its corner
inline constexpr double kCell = 7.25;  ///< the width of a letter in a 12 pixel monospaced font, in pixels

[[nodiscard]] DrawnPlot draw(const PlotGraph& graph);

/// Returns the plot as JSON for a page: {"width", "height", "nodes": [{kind, x, y, width, height, title, lines}],
/// "edges": [{path, backward, head_at_start}]}.
[[nodiscard]] Json drawn_json(const DrawnPlot& plot);

}  // namespace attn::report
