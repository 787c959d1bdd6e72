#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attn/base/text.h"
#include "drawing/canvas.h"
#include "drawing/glyphs.h"
#include "drawing/png.h"
#include "drawing/ramp.h"
#include "heatmap_page.h"
#include "heatmap_picture.h"
#include "text/escape.h"

namespace attn::report {
namespace {

/// The layout of maps. Lengths are CSS pixels; the image has kScale pixels for each.
class MapsLayout {
 public:
  static constexpr int kScale = 2;
  static constexpr double kGap = 8, kLine = 17;

  explicit MapsLayout(const HeatmapReport& report)
      : across_(static_cast<double>(heads_in_a_row(report))),
        about_(report.header ? heatmap_about(report) : std::vector<std::string>()),
        header_(report.header) {
    const bool alone = report.layers.size() == 1 && report.layers.front().heads.size() == 1;
    const std::int64_t wanted = alone ? 1024 : 256;  // side of a map in pixels
    constexpr double kMostPixels = std::int64_t{1} << 26;
    for (const run::LayerMap& layer : report.layers) columns_ = std::max(columns_, layer.columns);
    std::int64_t longest = columns_;
    for (const run::LayerMap& layer : report.layers) longest = std::max(longest, layer.rows);
    zoom_ = std::max<std::int64_t>(1, wanted / longest);
    while (zoom_ > 1 && width() * height(report) * kScale * kScale > kMostPixels) --zoom_;
  }

  [[nodiscard]] std::int64_t zoom() const { return zoom_; }
  [[nodiscard]] double side(std::int64_t cells) const { return static_cast<double>(cells * zoom_) / kScale; }
  [[nodiscard]] double across() const { return across_; }
  [[nodiscard]] double step_across() const { return std::max(side(columns_), kLeastMap) + kGap; }
  [[nodiscard]] double step_down(const run::LayerMap& layer) const { return kLine + side(layer.rows) + kGap; }
  [[nodiscard]] double width() const { return std::max(across_ * step_across() + kGap, kLeastWidth); }
  [[nodiscard]] double lines(const run::LayerMap& layer) const {
    return std::ceil(static_cast<double>(layer.heads.size()) / across_);
  }
  [[nodiscard]] double height(const HeatmapReport& report) const {
    double out = 2 * kGap + (header_ ? kLine * (1 + static_cast<double>(about_.size())) : 0);
    for (const run::LayerMap& layer : report.layers) out += kLine + lines(layer) * step_down(layer) + kGap;
    return out;
  }
  [[nodiscard]] const std::vector<std::string>& about() const { return about_; }
  /// Cuts a text to the width of a line.
  [[nodiscard]] std::string line(std::string_view text) const {
    return shortened(printable(text), static_cast<int>((width() - 2 * kGap) * kScale / kGlyphAdvance));
  }

 private:
  static constexpr double kLeastMap = 52;     // "head 10"
  static constexpr double kLeastWidth = 480;  // the least width in pixels for the text above the maps

  double across_;
  std::vector<std::string> about_;
  bool header_;
  std::int64_t columns_ = 1, zoom_ = 1;
};

/// Returns the cells of a head, drawn as squares of pixels.
Image cells_image(const run::LayerMap& layer, const run::HeadMap& head, bool log_scale, std::int64_t zoom) {
  const Shades shades(layer, head, log_scale);
  Image out;
  out.width = layer.columns * zoom;
  out.height = layer.rows * zoom;
  out.pixels.reserve(static_cast<std::size_t>(out.width * out.height));
  for (std::int64_t y = 0; y < out.height; ++y)
    for (std::int64_t x = 0; x < out.width; ++x)
      out.pixels.push_back(color_at(kLightRamp, shades.at(y / zoom, x / zoom)));
  return out;
}

}  // namespace

std::string heatmap_png(const HeatmapReport& report) {
  constexpr Color kPaper = {255, 255, 255}, kInk = {0x1a, 0x22, 0x30}, kSoft = {0x5b, 0x66, 0x78},
                  kBorder = {0xb9, 0xc2, 0xd0};
  constexpr double kGap = MapsLayout::kGap, kLine = MapsLayout::kLine, kFoot = 5;  // kFoot: space below the baseline
  const MapsLayout layout(report);
  Canvas canvas({layout.width(), layout.height(report)}, MapsLayout::kScale, kPaper);
  double y = kGap;
  if (report.header)
    canvas.text({kGap, (y += kLine) - kFoot}, layout.line(report.setting.model + ": attention"), kInk, true);
  for (const std::string& text : layout.about())
    canvas.text({kGap, (y += kLine) - kFoot}, layout.line(text), kSoft, false);
  y += kGap;
  for (const run::LayerMap& layer : report.layers) {
    canvas.text({kGap, (y += kLine) - kFoot}, layout.line(fmt::format("{} \u00b7 {}", layer.index, layer.name)), kInk,
                false);
    for (std::size_t i = 0; i < layer.heads.size(); ++i) {
      const auto place = static_cast<double>(i);
      const Point corner{kGap + std::fmod(place, layout.across()) * layout.step_across(),
                         y + std::floor(place / layout.across()) * layout.step_down(layer) + kLine};
      canvas.text({corner.x, corner.y - kFoot}, fmt::format("head {}", layer.heads[i].head), kSoft, false);
      canvas.box({corner.x - 1, corner.y - 1}, {layout.side(layer.columns) + 2, layout.side(layer.rows) + 2}, 0, kPaper,
                 kBorder);
      canvas.picture(corner, cells_image(layer, layer.heads[i], report.log_scale, layout.zoom()));
    }
    y += layout.lines(layer) * layout.step_down(layer) + kGap;
  }
  return png(canvas.image());
}

}  // namespace attn::report
