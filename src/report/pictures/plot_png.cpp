#include "plot_png.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "attn/base/error.h"
#include "drawing/canvas.h"
#include "drawing/page_assets.h"
#include "drawing/png.h"
#include "plot_layout.h"

namespace attn::report {
namespace {

constexpr double kMostPixels = 60e6;
constexpr Color kPaper = {255, 255, 255};

/// Returns a color of the style sheet in the light theme: the `property` for `selector`, otherwise for any box.
Color style_color(std::string_view selector, std::string_view property) {
  constexpr std::string_view kAnyBox = ".plot rect";
  const std::string_view sheet = page::kPlotCss.text;
  const std::string rule = fmt::format("\n{} {{", selector), wanted = fmt::format(" {}: #", property);
  const std::size_t begin = sheet.find(rule);
  const std::string_view body =
      begin == std::string_view::npos ? std::string_view() : sheet.substr(begin, sheet.find('}', begin) - begin);
  const std::size_t at = body.find(wanted);
  if (at == std::string_view::npos) {
    if (selector == kAnyBox) throw internal_error("the style sheet of plots has no {} for boxes", property);
    return style_color(kAnyBox, property);
  }
  Color out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char* const digits = body.data() + at + wanted.size() + 2 * i;
    std::from_chars(digits, digits + 2, out[i], 16);
  }
  return out;
}

/// Reads the numbers after a path command.
std::vector<double> numbers_in(std::string_view& text) {
  std::vector<double> out;
  while (!text.empty()) {
    if (text.front() == ' ') {
      text.remove_prefix(1);
      continue;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) break;
    out.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return out;
}

/// Returns the points of a path, with curves approximated by short lines.
std::vector<Point> points_of(std::string_view path) {
  constexpr int kSteps = 24;
  std::vector<Point> out;
  while (!path.empty()) {
    const char letter = path.front();
    path.remove_prefix(1);
    const std::vector<double> n = numbers_in(path);
    const Point last = out.empty() ? Point{} : out.back();
    if (letter == 'M') {
      out.push_back({n.at(0), n.at(1)});
    } else if (letter == 'V') {
      out.push_back({last.x, n.at(0)});
    } else if (letter == 'C' || letter == 'c') {
      const Point origin = letter == 'c' ? last : Point{};
      for (int step = 1; step <= kSteps; ++step) {
        const double t = static_cast<double>(step) / kSteps, s = 1 - t;
        const double a = s * s * s, b = 3 * s * s * t, c = 3 * s * t * t, d = t * t * t;
        out.push_back({a * last.x + b * (origin.x + n.at(0)) + c * (origin.x + n.at(2)) + d * (origin.x + n.at(4)),
                       a * last.y + b * (origin.y + n.at(1)) + c * (origin.y + n.at(3)) + d * (origin.y + n.at(5))});
      }
    } else {
      throw internal_error("a path with '{}'", letter);
    }
  }
  return out;
}

void draw_edge(Canvas& canvas, const DrawnEdge& edge, Color line, Color head) {
  constexpr double kLong = 9, kWide = 4.5;
  std::vector<Point> points = points_of(edge.path);
  if (points.size() < 2) return;
  canvas.path(points, 1.3, line, edge.is_backward);
  if (edge.head_at_start) std::reverse(points.begin(), points.end());
  const Point tip = points.back(), before = points[points.size() - 2];
  const double length = std::max(std::hypot(tip.x - before.x, tip.y - before.y), 1e-9);
  const double dx = (tip.x - before.x) / length, dy = (tip.y - before.y) / length;
  const Point foot{tip.x - kLong * dx, tip.y - kLong * dy};
  canvas.triangle(tip, {foot.x - kWide * dy, foot.y + kWide * dx}, {foot.x + kWide * dy, foot.y - kWide * dx}, head);
}

}  // namespace

std::string plot_png(const PlotGraph& graph) {
  const DrawnPlot plot = draw(graph);
  const double pixels = std::ceil(plot.size.width) * std::ceil(plot.size.height);
  if (pixels > kMostPixels)
    throw bad_usage("a PNG of {:.0f} x {:.0f} pixels would be too large; .svg has no such limit", plot.size.width,
                    plot.size.height);
  Canvas canvas(plot.size, pixels * 4 > kMostPixels ? 1 : 2, kPaper);
  const Color name = style_color(".plot text", "fill"), detail = style_color(".plot .detail", "fill");
  for (const DrawnNode& node : plot.nodes) {
    const std::string rule = fmt::format(".plot .{} rect", node.kind);
    canvas.box(node.corner, node.size, 6, style_color(rule, "fill"), style_color(rule, "stroke"));
    for (std::size_t i = 0; i < node.lines.size(); ++i)
      canvas.text({node.corner.x + kTextLeft, node.corner.y + kFirstLine + static_cast<double>(i) * kLineHeight},
                  node.lines[i], i == 0 ? name : detail, i == 0);
  }
  const Color line = style_color(".plot .edge", "stroke"), head = style_color(".plot .arrow", "fill");
  for (const DrawnEdge& edge : plot.edges) draw_edge(canvas, edge, line, head);
  return png(canvas.image());
}

}  // namespace attn::report
