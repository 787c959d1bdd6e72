// A picture of pixels, drawn with smooth edges.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "layered.h"
#include "png.h"

namespace attn::report {

/// Measures are CSS pixels; the picture has `scale` times as many.
class Canvas {
 public:
  Canvas(Size size, int scale, Color paper);

  /// A rectangle with round corners, and the line around it.
  void box(Point corner, Size size, double radius, Color fill, Color line);
  /// Lines from point to point; dashed: 5 drawn, 4 left out.
  void path(const std::vector<Point>& points, double width, Color color, bool dashed);
  void triangle(Point a, Point b, Point c, Color color);
  /// Letters 12 pixels high, which stand on the line of `start`; bold ones are drawn twice.
  void text(Point start, std::string_view utf8, Color color, bool bold);

  /// Another picture, pixel for pixel, with its corner here.
  void picture(Point corner, const Image& other);

  [[nodiscard]] const Image& image() const noexcept { return image_; }

 private:
  /// Lays `color` over the pixels of a box, as far as `cover(x, y)` says, 0 to 1.
  template <typename Cover>
  void blend(Point from, Point to, Color color, Cover cover);

  double scale_;
  Image image_;
};

}  // namespace attn::report
