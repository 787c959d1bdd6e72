#include "grid_png.h"

#include <algorithm>
#include <cmath>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "drawing/canvas.h"
#include "drawing/png.h"
#include "text/escape.h"

namespace attn::report {
namespace {

constexpr double kPngMargin = 16, kPngLetter = 7.25, kPngLine = 18, kPngRow = 22;
constexpr double kMostGridPixels = 60e6;
constexpr int kPngNameCells = 18, kPngScale = 2;
constexpr Color kPngPaper = {255, 255, 255}, kPngInk = {26, 34, 48}, kPngFrame = {185, 194, 208};
constexpr Color kPngUp = {240, 136, 74}, kPngDown = {90, 150, 230};

std::string png_name(const std::string& name) { return shortened(printable(name), kPngNameCells); }

double widest(const std::vector<std::string>& names) {
  int out = 2;
  for (const std::string& name : names) out = std::max(out, display_width(png_name(name)));
  return kPngLetter * (out + 1);
}

/// The sizes of a grid in CSS pixels.
struct GridSize {
  double left = 0, cell = 0, width = 0, height = 0;
};

GridSize size_of(const Grid& grid) {
  GridSize out;
  out.left = kPngMargin + widest(grid.rows);
  out.cell = widest(grid.columns);
  for (const std::vector<std::string>& row : grid.words) out.cell = std::max(out.cell, widest(row));
  out.width = out.left + out.cell * static_cast<double>(grid.columns.size());
  out.height = 3 * kPngLine + kPngRow * static_cast<double>(grid.rows.size());
  return out;
}

Color blended(const Color& color, double share) {
  Color out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::uint8_t>(std::lround(255 + (color[i] - 255) * share));
  return out;
}

void draw_grid(Canvas& canvas, const Grid& grid, double y) {
  const GridSize size = size_of(grid);
  const double largest = grid.largest();
  canvas.text({kPngMargin, y += kPngLine}, printable(grid.title), kPngInk, true);
  y += kPngLine;
  const auto left_of = [&](std::size_t column) { return size.left + size.cell * static_cast<double>(column); };
  for (std::size_t column = 0; column < grid.columns.size(); ++column)
    canvas.text({left_of(column) + 3, y}, png_name(grid.columns[column]), kPngInk, false);
  y += 5;
  for (std::size_t row = 0; row < grid.rows.size(); ++row, y += kPngRow) {
    canvas.text({kPngMargin, y + kPngRow - 7}, png_name(grid.rows[row]), kPngInk, false);
    for (std::size_t column = 0; column < grid.columns.size(); ++column) {
      const double value = grid.values[row][column];
      const double share = std::isfinite(value) && largest > 0 ? std::abs(value) / largest : 0;
      canvas.box({left_of(column), y}, {size.cell, kPngRow}, 0, blended(value < 0 ? kPngDown : kPngUp, share),
                 kPngFrame);
      if (!grid.words.empty())
        canvas.text({left_of(column) + 3, y + kPngRow - 7}, png_name(grid.words[row][column]), kPngInk, false);
    }
  }
}

}  // namespace

std::string grids_png(const std::string& title, std::span<const Grid> grids) {
  double width = kPngMargin + kPngLetter * display_width(printable(title)), height = 2 * kPngMargin + kPngLine;
  for (const Grid& grid : grids) {
    width = std::max({width, size_of(grid).width, kPngMargin + kPngLetter * display_width(printable(grid.title))});
    height += size_of(grid).height;
  }
  width += kPngMargin;
  if (width * height * kPngScale * kPngScale > kMostGridPixels)
    throw Error(ExitCode::no_memory, "the grids are too large for a PNG; write SVG or HTML");
  Canvas canvas({width, height}, kPngScale, kPngPaper);
  canvas.text({kPngMargin, kPngMargin + kPngLine / 2}, printable(title), kPngInk, false);
  double y = kPngMargin + kPngLine;
  for (const Grid& grid : grids) {
    draw_grid(canvas, grid, y);
    y += size_of(grid).height;
  }
  return png(canvas.image());
}

}  // namespace attn::report
