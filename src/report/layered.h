// Places the boxes of a directed graph in ranks from top to bottom (Sugiyama, Tagawa, Toda 1981).
#pragma once

#include <cstddef>
#include <vector>

namespace attn::report {

/// The index of a box or link as what lists are indexed by.
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

/// A line from the lower edge of one box to the upper edge of another, as pairs of points: straight down from the first
/// to the second of a pair, past the boxes of a rank, and in a bend from pair to pair. One that runs backwards is given
/// from the upper box to the lower all the same; one from a box to itself has no points.
struct Route {
  std::vector<Point> points;
  bool is_backward = false;
};

struct Layout {
  std::vector<Point> centres;  ///< by box
  std::vector<Route> routes;   ///< by link
  Size size;
};

/// Links from a box to a later one run downwards; those to an earlier one are let run backwards. No two boxes overlap.
/// Time and points grow with boxes and links: where the bends would be too many, long links become straight.
[[nodiscard]] Layout place(const std::vector<Size>& boxes, const std::vector<Link>& links);

}  // namespace attn::report
