#include "grid_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "text/escape.h"

namespace attn::report {
namespace {

constexpr double kGridMargin = 16, kGridLetter = 7.25, kGridLine = 17, kGridRow = 22;
constexpr int kGridNameCells = 24;
constexpr int kGridShades = 8;  // steps of color on each side of 0

constexpr const char* kGridStyle = R"(svg { color-scheme: light dark; }
text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1a2230; }
.soft { fill: #5b6678; }
.cell { stroke: #b9c2d0; stroke-width: 0.5; }
.none { fill: none; }
.up { fill: #c2410c; }
.down { fill: #2f6fb5; }
@media screen and (prefers-color-scheme: dark) {
text { fill: #e6eaf1; }
.soft { fill: #9aa6b8; }
.cell { stroke: #465162; }
.up { fill: #f0884a; }
.down { fill: #6aa6e8; }
}
)";

std::size_t longest_name(const std::vector<std::string>& names) {
  std::size_t out = 0;
  for (const std::string& name : names)
    out = std::max(out, static_cast<std::size_t>(display_width(shortened(printable(name), kGridNameCells))));
  return out;
}

/// Draws grids below each other.
class GridFigure {
 public:
  void add(const Grid& grid) {
    const double left = kGridMargin + kGridLetter * static_cast<double>(longest_name(grid.rows) + 2);
    const bool worded = !grid.words.empty();
    std::size_t letters = 2;
    if (worded)
      for (const std::vector<std::string>& row : grid.words) letters = std::max(letters, longest_name(row));
    const double width = worded ? kGridLetter * static_cast<double>(letters + 1) : 26;
    const double head = kGridLetter * static_cast<double>(longest_name(grid.columns)) + 8;
    text(kGridMargin, y_ += kGridLine, "", grid.title);
    y_ += 8 + (worded ? kGridLine : head);
    for (std::size_t i = 0; i < grid.columns.size(); ++i) {
      const double x = left + width * (static_cast<double>(i) + 0.5);
      if (worded)
        text(x - width / 2 + 3, y_ - 5, "soft", grid.columns[i]);
      else
        upright(x + 4, y_ - 5, grid.columns[i]);
    }
    const double most = grid.largest();
    for (std::size_t row = 0; row < grid.rows.size(); ++row) {
      text(kGridMargin, y_ + kGridRow - 7, "", grid.rows[row]);
      for (std::size_t column = 0; column < grid.values[row].size(); ++column)
        cell(grid, row, column, left + width * static_cast<double>(column), width, most);
      y_ += kGridRow;
    }
    width_ = std::max(width_, left + width * static_cast<double>(grid.columns.size()));
    y_ += kGridLine;
  }

  [[nodiscard]] std::string finish(const std::string& title) const {
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
               "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<title>{2}</title>\n<style>\n{3}</style>\n",
               width_ + kGridMargin, y_, xml_text(title), kGridStyle) +
           out_ + "</svg>\n";
  }

  void heading(const std::string& title) { text(kGridMargin, y_ += kGridLine, "", title); }

 private:
  void text(double x, double y, const char* kind, const std::string& words) {
    const std::string shown = shortened(printable(words), 120);
    width_ = std::max(width_, x + kGridLetter * display_width(shown));
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, kind, xml_text(shown));
  }
  void upright(double x, double y, const std::string& words) {
    out_ += fmt::format("<text class=\"soft\" transform=\"translate({:.1f} {:.1f}) rotate(-90)\">{}</text>\n", x, y,
                        xml_text(shortened(printable(words), kGridNameCells)));
  }
  void cell(const Grid& grid, std::size_t row, std::size_t column, double x, double width, double most) {
    const double value = grid.values[row][column];
    const bool known = std::isfinite(value);
    const double share = known && most > 0 ? std::abs(value) / most : 0;
    const double shade = std::round(share * kGridShades) / kGridShades;
    const std::string words = grid.words.empty() ? "" : grid.words[row][column];
    const std::string tip = fmt::format("{}, {}: {}{}", grid.rows[row], grid.columns[column],
                                        words.empty() ? "" : words + " ", known ? number(value) : "-");
    out_ += fmt::format(
        "<rect class=\"cell {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill-opacity=\"{:.3g}\">"
        "<title>{}</title></rect>\n",
        !known       ? "none"
        : value >= 0 ? "up"
                     : "down",
        x, y_, width, kGridRow, shade * (words.empty() ? 1.0 : 0.6), xml_text(tip));
    if (!words.empty()) text(x + 3, y_ + kGridRow - 7, "", shortened(printable(words), kGridNameCells));
  }

  std::string out_;
  double y_ = kGridMargin, width_ = 0;
};

}  // namespace

std::string grids_svg(const std::string& title, std::span<const Grid> grids) {
  GridFigure figure;
  figure.heading(title);
  for (const Grid& grid : grids) figure.add(grid);
  return figure.finish(title);
}

}  // namespace attn::report
