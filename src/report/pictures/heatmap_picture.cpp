#include "heatmap_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "drawing/ramp.h"
#include "heatmap_page.h"
#include "text/escape.h"

namespace attn::report {
namespace {

using run::HeadMap;
using run::LayerMap;

constexpr int kLevels = 33;  // number of colors of an SVG
constexpr double kFont = 12, kLetter = 7.25, kNameHeight = 13;
constexpr std::size_t kMostLabelled = 16;  // maximum number of heads with labels

std::string hex(const Color& color) { return fmt::format("#{:02x}{:02x}{:02x}", color[0], color[1], color[2]); }

/// Draws runs of cells with equal level in a row, with one path for each level.
std::string cells_svg(const LayerMap& layer, const HeadMap& head, bool log_scale) {
  std::vector<std::string> paths(kLevels);
  const Shades shades(layer, head, log_scale);
  const auto level_at = [&](std::int64_t row, std::int64_t column) {
    return static_cast<int>(std::lround(shades.at(row, column) * (kLevels - 1)));
  };
  for (std::int64_t row = 0; row < layer.rows; ++row) {
    for (std::int64_t column = 0; column < layer.columns;) {
      const int level = level_at(row, column);
      std::int64_t behind = column + 1;
      while (behind < layer.columns && level_at(row, behind) == level) ++behind;
      if (level > 0)
        paths[static_cast<std::size_t>(level)] +=
            fmt::format("M{} {}h{}v1h{}z", column, row, behind - column, column - behind);
      column = behind;
    }
  }
  std::string out;
  for (std::size_t level = 1; level < paths.size(); ++level)
    if (!paths[level].empty()) out += fmt::format("<path class=\"l{}\" d=\"{}\"/>\n", level, paths[level]);
  return out;
}

std::string style_svg() {
  std::string out =
      "svg { color-scheme: light dark; }\n"
      "text { font: 12px ui-monospace, \"DejaVu Sans Mono\", Menlo, Consolas, monospace; fill: #1a2230; }\n"
      ".soft { fill: #5b6678; }\n"
      ".frame { fill: none; stroke: #b9c2d0;; }\n";
  const auto levels = [](const auto& ramp) {
    std::string rules = fmt::format(".paper {{ fill: {}; }}\n", ramp.front());
    for (int level = 1; level < kLevels; ++level)
      rules +=
          fmt::format(".l{} {{ fill: {}; }}\n", level, hex(color_at(ramp, static_cast<double>(level) / (kLevels - 1))));
    return rules;
  };
  out += levels(kLightRamp);
  return out +
         "@media screen and (prefers-color-scheme: dark) {\ntext { fill: #e6eaf1; }\n.soft { fill: #9aa6b8; }\n"
         ".frame { stroke: #465162; }\n" +
         levels(kDarkRamp) + "}\n";
}

class Figure {
 public:
  explicit Figure(const HeatmapReport& report) : report_(report) {}

  std::string run() {
    const std::size_t across = heads_in_a_row(report_);
    const bool alone = report_.layers.size() == 1 && report_.layers.front().heads.size() == 1;
    const double side = alone ? 560 : std::clamp(1100.0 / static_cast<double>(across) - 16, 60.0, 300.0);
    double y = kMargin;
    if (report_.header) add_header(y);
    for (const LayerMap& layer : report_.layers) {
      add_text(kMargin, y, "", fmt::format("{} · {}", layer.index, layer.name));
      y += 10;
      y = alone || is_labelled(layer) ? add_labelled_heads(layer, y, alone ? side : 0)
                                      : add_heads(layer, y, side, across);
      y += 26;
    }
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
               "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<title>{2}</title>\n<style>\n{3}</style>\n",
               width_ + kMargin, y, xml_text(shortened(printable(report_.setting.model), 200) + ": attention"),
               style_svg()) +
           out_ + "</svg>\n";
  }

 private:
  static constexpr double kMargin = 16;

  void add_header(double& y) {
    y += kFont;
    add_text(kMargin, y, "", report_.setting.model + ": attention");
    for (const std::string& line : heatmap_about(report_)) add_paragraph(y, "soft", line);
    for (const std::string& line : heatmap_notes(report_)) add_paragraph(y, "soft", line);
    for (const std::string& line : heatmap_warnings(report_)) add_paragraph(y, "", line);
    if (const std::string why = why_no_labels(Format::svg, report_); !why.empty()) add_paragraph(y, "soft", why);
    y += 22;
  }

  /// Returns whether the layer has labels for its positions, and few enough heads to draw them.
  [[nodiscard]] bool is_labelled(const LayerMap& layer) const {
    return why_no_labels(Format::svg, report_).empty() &&
           (report_.labels.contains(layer.queries) || report_.labels.contains(layer.keys));
  }

  void add_text(double x, double y, const char* kind, std::string_view text, const std::string& more = "") {
    const std::string shown = shortened(printable(text), 160);
    width_ = std::max(width_, x + (more.empty() ? display_width(shown) * kLetter : 0));
    out_ +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\"{}>{}</text>\n", x, y, kind, more, xml_text(shown));
  }

  /// Adds lines of text below `y`, and advances it.
  void add_paragraph(double& y, const char* kind, std::string_view text) {
    constexpr int kWidth = 110;
    std::string line;
    for (const std::string& word : split(text, ' ')) {
      if (!line.empty() && display_width(line) + display_width(word) >= kWidth) {
        add_text(kMargin, y += 17, kind, line);
        line.clear();
      }
      line += (line.empty() ? "" : " ") + word;
    }
    add_text(kMargin, y += 17, kind, line);
  }

  void add_map(const LayerMap& layer, const HeadMap& head, double x, double y, double side) {
    const double cell = side / static_cast<double>(std::max(layer.rows, layer.columns));
    out_ += fmt::format("<g transform=\"translate({:.1f} {:.1f}) scale({:.5g})\" shape-rendering=\"crispEdges\">\n", x,
                        y, cell);
    out_ += fmt::format("<rect class=\"paper\" width=\"{}\" height=\"{}\"/>\n", layer.columns, layer.rows) +
            cells_svg(layer, head, report_.log_scale) + "</g>\n";
    // Outside the scaled group: not every renderer knows strokes that do not scale.
    const double width = cell * static_cast<double>(layer.columns), height = cell * static_cast<double>(layer.rows);
    out_ += fmt::format("<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", x, y,
                        width, height);
    width_ = std::max(width_, x + width);
  }

  double add_heads(const LayerMap& layer, double y, double side, std::size_t across) {
    const double height =
        side * static_cast<double>(layer.rows) / static_cast<double>(std::max(layer.rows, layer.columns));
    for (std::size_t i = 0; i < layer.heads.size(); ++i) {
      const HeadMap& head = layer.heads[i];
      const double x = kMargin + static_cast<double>(i % across) * (side + 16);
      const std::size_t line = i / across;
      const double top = y + static_cast<double>(line) * (height + 34);
      add_text(x, top + 14, "soft", fmt::format("head {}", head.head));
      add_map(layer, head, x, top + 20, side);
    }
    const std::size_t lines = (layer.heads.size() + across - 1) / across;
    return y + static_cast<double>(lines) * (height + 34);
  }

  /// Returns the label of a cell: the name of its first position.
  [[nodiscard]] std::string label(std::int64_t cell, std::int64_t block, std::int64_t count) const {
    const auto words = report_.labels.find(count);
    if (words == report_.labels.end()) return std::to_string(cell * block);
    return shortened(printable(words->second[static_cast<std::size_t>(cell * block)]), 16);
  }

  /// Adds the heads with labels of their positions, in rows of the available width. If `side` is 0, the labels
  /// determine the size of a map.
  double add_labelled_heads(const LayerMap& layer, double y, double side) {
    constexpr double kLine = 1200, kBetween = 28;
    const auto longest = static_cast<double>(std::max(layer.rows, layer.columns));
    if (side == 0) side = std::clamp(longest * kNameHeight, 180.0, 560.0);
    const double left = room_for(layer.rows, layer.block, layer.queries),
                 top = 20 + room_for(layer.columns, layer.block, layer.keys);
    const double width = left + side * static_cast<double>(layer.columns) / longest;
    const double height = top + side * static_cast<double>(layer.rows) / longest;
    const double title = kLetter * static_cast<double>(head_title(layer.heads.front()).size());
    const double step = std::max(width, title) + kBetween;
    const auto across = static_cast<std::size_t>(std::max(1.0, std::floor(kLine / step)));
    for (std::size_t i = 0; i < layer.heads.size(); ++i) {
      const std::size_t line = i / across, column = i % across;
      add_labelled(layer, layer.heads[i], kMargin + static_cast<double>(column) * step,
                   y + static_cast<double>(line) * (height + kBetween), side);
    }
    const std::size_t lines = (layer.heads.size() + across - 1) / across;
    y += static_cast<double>(lines) * (height + kBetween) - kBetween;
    return add_legend(layer, y + 22);
  }

  [[nodiscard]] static std::string head_title(const HeadMap& head) {
    return fmt::format("head {}: entropy {} bits, largest weight {}", head.head, measured(head.stats.entropy),
                       measured(head.stats.largest));
  }

  [[nodiscard]] double room_for(std::int64_t cells, std::int64_t block, std::int64_t count) const {
    int longest = 3;
    for (std::int64_t i = 0; i < cells; ++i) longest = std::max(longest, display_width(label(i, block, count)));
    return longest * kLetter + 8;
  }

  void add_labelled(const LayerMap& layer, const HeadMap& head, double x, double y, double side) {
    const double cell = side / static_cast<double>(std::max(layer.rows, layer.columns));
    const double left = x + room_for(layer.rows, layer.block, layer.queries),
                 top = y + 20 + room_for(layer.columns, layer.block, layer.keys);
    add_text(x, y + 14, "soft", head_title(head));
    add_map(layer, head, left, top, side);
    // Labels every step-th position, so that labels do not overlap.
    const auto step = static_cast<std::int64_t>(std::ceil(kNameHeight / cell));
    for (std::int64_t row = 0; row < layer.rows; row += step) {
      const double at = top + (static_cast<double>(row) + 0.5) * cell + 4;
      add_text(left - 6, at, "soft", label(row, layer.block, layer.queries), " text-anchor=\"end\"");
    }
    for (std::int64_t column = 0; column < layer.columns; column += step) {
      const double at = left + (static_cast<double>(column) + 0.5) * cell + 4;
      add_text(at, top - 6, "soft", label(column, layer.block, layer.keys),
               fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", at, top - 6));
    }
  }

  /// Draws the color legend, and the directions of queries and keys.
  double add_legend(const LayerMap& layer, double y) {
    constexpr double kStep = 5, kHigh = 10;
    const std::string words = Shades(layer, layer.heads.front(), report_.log_scale).words();
    double x = kMargin;
    add_text(x, y, "soft", "queries down, keys across;");
    x += 27 * kLetter;
    for (int level = 0; level < kLevels; ++level)
      out_ += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
                          level == 0 ? "paper" : fmt::format("l{}", level), x + kStep * level, y - kHigh, kStep, kHigh);
    add_text(x + kStep * kLevels + 8, y, "soft", words);
    return y + 4;
  }

  const HeatmapReport& report_;
  double width_ = 0;
  std::string out_;
};

}  // namespace

std::size_t heads_in_a_row(const HeatmapReport& report) {
  std::size_t most = 1;
  for (const LayerMap& layer : report.layers) most = std::max(most, layer.heads.size());
  if (report.layers.size() > 1) return most;
  return static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(most))));
}

std::string why_no_labels(Format format, const HeatmapReport& report) {
  if (report.labels.empty()) return "";
  if (format == Format::png) return "a PNG has no labels of positions; write .svg or .html for them";
  std::size_t heads = 0;
  for (const LayerMap& layer : report.layers) heads += layer.heads.size();
  if (format != Format::svg || heads <= kMostLabelled) return "";
  return fmt::format("the positions of {} heads are not labeled: --layer and --head select up to {}", heads,
                     kMostLabelled);
}

std::string heatmap_svg(const HeatmapReport& report) { return Figure(report).run(); }

}  // namespace attn::report
