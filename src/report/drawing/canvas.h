// A raster image with antialiased drawing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "layered.h"
#include "png.h"

namespace attn::report {

/// A canvas whose lengths are CSS pixels; the image has `scale` pixels for each.
class Canvas {
 public:
  Canvas(Size size, int scale, Color paper);

  /// Draws a filled rectangle with rounded corners and a border.
  void box(Point corner, Size size, double radius, Color fill, Color line);
  /// Draws lines from point to point; dashed lines are alternately drawn for 5 pixels and left out for 4.
  void path(const std::vector<Point>& points, double width, Color color, bool dashed);
  void triangle(Point a, Point b, Point c, Color color);
  /// Draws text 12 pixels high, with the baseline at `start`; bold letters are drawn twice.
  void text(Point start, std::string_view utf8, Color color, bool bold);

  /// Copies another image pixel by pixel, with its upper left corner at `corner`.
  void picture(Point corner, const Image& other);

  [[nodiscard]] const Image& image() const noexcept { return image_; }

 private:
  /// Blends `color` over the pixels of a box, with opacity `cover(x, y)` from 0 to 1.
  template <typename Cover>
  void blend(Point from, Point to, Color color, Cover cover);

  double scale_;
  Image image_;
};

}  // namespace attn::report
