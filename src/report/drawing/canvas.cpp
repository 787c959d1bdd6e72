#include "canvas.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "glyphs.h"
#include "text/cells.h"

namespace attn::report {
namespace {

/// Returns the fraction of a pixel inside a shape whose edge is `distance` pixels away (negative inside).
double covered(double distance) { return std::clamp(0.5 - distance, 0.0, 1.0); }

/// Returns the distance of a pixel from a line segment.
double distance_from(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  const double t = length == 0 ? 0 : std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0, 1.0);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/// Returns the visible segments of a dashed line.
std::vector<std::pair<Point, Point>> pieces_of(const std::vector<Point>& points, bool dashed) {
  constexpr double kDrawn = 5, kPeriod = 9;
  std::vector<std::pair<Point, Point>> out;
  double at = 0;  // position along the line, in pixels
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Point a = points[i - 1], b = points[i];
    if (!dashed) {
      out.emplace_back(a, b);
      continue;
    }
    const double length = std::hypot(b.x - a.x, b.y - a.y);
    const auto between = [&](double done) {
      return Point{a.x + (b.x - a.x) * done / length, a.y + (b.y - a.y) * done / length};
    };
    for (double done = 0; done < length;) {
      const double phase = std::fmod(at, kPeriod), end = phase < kDrawn ? kDrawn : kPeriod;
      const double step = std::min(std::max(end - phase, 1e-6), length - done);
      if (phase < kDrawn) out.emplace_back(between(done), between(done + step));
      done += step;
      at += step;
    }
  }
  return out;
}

}  // namespace

Canvas::Canvas(Size size, int scale, Color paper) : scale_(scale) {
  image_.width = static_cast<std::int64_t>(std::nearbyint(size.width)) * scale;
  image_.height = static_cast<std::int64_t>(std::nearbyint(size.height)) * scale;
  image_.pixels.assign(static_cast<std::size_t>(image_.width * image_.height), paper);
}

template <typename Cover>
void Canvas::blend(Point from, Point to, Color color, Cover cover) {
  const auto left = std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(from.x)), 0);
  const auto top = std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(from.y)), 0);
  const auto right = std::min(static_cast<std::int64_t>(std::ceil(to.x)), image_.width);
  const auto bottom = std::min(static_cast<std::int64_t>(std::ceil(to.y)), image_.height);
  for (std::int64_t y = top; y < bottom; ++y)
    for (std::int64_t x = left; x < right; ++x) {
      const double share = cover(static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5);
      if (share <= 0) continue;
      Color& pixel = image_.pixels[static_cast<std::size_t>(y * image_.width + x)];
      for (std::size_t i = 0; i < pixel.size(); ++i)
        pixel[i] = static_cast<std::uint8_t>(std::lround(pixel[i] + (color[i] - pixel[i]) * share));
    }
}

void Canvas::box(Point corner, Size size, double radius, Color fill, Color line) {
  const Point middle{(corner.x + size.width / 2) * scale_, (corner.y + size.height / 2) * scale_};
  const double r = radius * scale_, half = scale_ / 2;  // the line is one CSS pixel wide
  const auto distance = [&](double x, double y) {
    const double dx = std::abs(x - middle.x) - size.width / 2 * scale_ + r;
    const double dy = std::abs(y - middle.y) - size.height / 2 * scale_ + r;
    return std::hypot(std::max(dx, 0.0), std::max(dy, 0.0)) + std::min(std::max(dx, dy), 0.0) - r;
  };
  const Point from{(corner.x - 1) * scale_, (corner.y - 1) * scale_};
  const Point to{(corner.x + size.width + 1) * scale_, (corner.y + size.height + 1) * scale_};
  blend(from, to, fill, [&](double x, double y) { return covered(distance(x, y)); });
  blend(from, to, line, [&](double x, double y) { return covered(std::abs(distance(x, y)) - half); });
}

void Canvas::path(const std::vector<Point>& points, double width, Color color, bool dashed) {
  const double half = width / 2 * scale_;
  for (const auto& [from, to] : pieces_of(points, dashed)) {
    const Point a{from.x * scale_, from.y * scale_}, b{to.x * scale_, to.y * scale_};
    blend({std::min(a.x, b.x) - half - 1, std::min(a.y, b.y) - half - 1},
          {std::max(a.x, b.x) + half + 1, std::max(a.y, b.y) + half + 1}, color, [&](double x, double y) {
            return covered(distance_from({x, y}, a, b) - half);
          });
  }
}

void Canvas::triangle(Point a, Point b, Point c, Color color) {
  const std::array<Point, 3> corners{
      {{a.x * scale_, a.y * scale_}, {b.x * scale_, b.y * scale_}, {c.x * scale_, c.y * scale_}}};
  const double turn = (corners[1].x - corners[0].x) * (corners[2].y - corners[0].y) -
                      (corners[1].y - corners[0].y) * (corners[2].x - corners[0].x);
  const auto [left, right] = std::minmax({corners[0].x, corners[1].x, corners[2].x});
  const auto [top, bottom] = std::minmax({corners[0].y, corners[1].y, corners[2].y});
  blend({left - 1, top - 1}, {right + 1, bottom + 1}, color, [&](double x, double y) {
    double furthest = -1e9;  // distance beyond the nearest edge
    for (std::size_t i = 0; i < 3; ++i) {
      const Point &p = corners[i], &q = corners[(i + 1) % 3];
      const double side = (q.x - p.x) * (y - p.y) - (q.y - p.y) * (x - p.x);
      furthest = std::max(furthest, (turn > 0 ? -side : side) / std::hypot(q.x - p.x, q.y - p.y));
    }
    return covered(furthest);
  });
}

void Canvas::picture(Point corner, const Image& other) {
  const std::int64_t left = std::llround(corner.x * scale_), top = std::llround(corner.y * scale_);
  for (std::int64_t y = 0; y < other.height; ++y)
    for (std::int64_t x = 0; x < other.width; ++x) {
      const std::int64_t to_x = left + x, to_y = top + y;
      if (to_x < 0 || to_y < 0 || to_x >= image_.width || to_y >= image_.height) continue;
      image_.pixels[static_cast<std::size_t>(to_y * image_.width + to_x)] =
          other.pixels[static_cast<std::size_t>(y * other.width + x)];
    }
}

void Canvas::text(Point start, std::string_view utf8, Color color, bool bold) {
  constexpr double kFull = 15;
  const double zoom = scale_ * 12 / kGlyphSize;  // picture pixels for each font pixel
  double pen = start.x * scale_;
  const double line = start.y * scale_;
  for (const char32_t point : code_points(utf8)) {
    const Glyph* glyph = glyph_of(point);
    if (glyph == nullptr && point != U' ') {  // the font lacks this letter
      const double side = 9 * zoom;
      path({{(pen + zoom) / scale_, line / scale_},
            {(pen + side) / scale_, line / scale_},
            {(pen + side) / scale_, (line - 16 * zoom) / scale_},
            {(pen + zoom) / scale_, (line - 16 * zoom) / scale_},
            {(pen + zoom) / scale_, line / scale_}},
           0.6, color, false);
    } else if (glyph != nullptr) {
      const std::vector<std::uint8_t> shades = shades_of(*glyph);
      for (int again = 0; again < (bold ? 2 : 1); ++again) {
        const Point corner{std::round(pen + glyph->left * zoom) + again, std::round(line + glyph->top * zoom)};
        blend(corner, {corner.x + glyph->width * zoom, corner.y + glyph->height * zoom}, color,
              [&](double x, double y) {
                const auto column = static_cast<int>((x - corner.x) / zoom),
                           row = static_cast<int>((y - corner.y) / zoom);
                if (column < 0 || row < 0 || column >= glyph->width || row >= glyph->height) return 0.0;
                const auto at = std::int64_t{row} * glyph->width + column;
                return shades[static_cast<std::size_t>(at)] / kFull;
              });
      }
    }
    pen += kGlyphAdvance * zoom;
  }
}

}  // namespace attn::report
