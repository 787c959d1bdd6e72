// Layered layout of a directed graph, from top to bottom (Sugiyama, Tagawa, Toda 1981).
#pragma once

#include <cstddef>
#include <vector>

namespace attn::report {

/// Returns a box or edge index as a container index.
[[nodiscard]] constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

struct Point {
  double x = 0, y = 0;
};

struct Size {
  double width = 0, height = 0;
};

struct Link {
  int from = 0, to = 0;
};

/// An edge from the bottom of one box to the top of another, as pairs of points. There is a vertical segment within
/// each pair, past the boxes of a rank, and a curve between pairs. A backward edge is also given from the upper box to
/// the lower. An edge from a box to itself has no points.
struct Route {
  std::vector<Point> points;
  bool is_backward = false;
};

struct Layout {
  std::vector<Point> centres;  ///< center of each box
  std::vector<Route> routes;   ///< route of each edge
  Size size;
};

/// Lays out a graph. Edges to a later box run downward; those to an earlier box are backward edges. Boxes do not
/// overlap. Time and points grow with boxes and edges: if there would be too many bends, long edges become straight.
[[nodiscard]] Layout place(const std::vector<Size>& boxes, const std::vector<Link>& links);

}  // namespace attn::report
