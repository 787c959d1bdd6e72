#include "gradients_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "drawing/page_assets.h"
#include "plot_layout.h"
#include "text/escape.h"

namespace attn::report {
namespace {

constexpr double kNameWidth = 300, kBarWidth = 560, kNoteWidth = 120, kBarRow = 20, kScaleHeight = 46;
constexpr int kNameCells = 40, kModelCells = 200, kMostDecades = 8;

std::string bar_text(double x, double y, std::string_view style, std::string_view anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, style, anchor,
                     xml_text(text));
}

/// The range of powers of ten that a plot shows.
struct Decades {
  int low = -1, high = 0;
};

Decades decades_of(const GradientsReport& report) {
  double smallest = INFINITY, largest = 0.0;
  for (const run::GradientRow& row : report.rows) {
    if (!(row.rms() > 0.0)) continue;
    smallest = std::min(smallest, row.rms());
    largest = std::max(largest, row.rms());
  }
  if (largest == 0.0) return {};
  const int high = static_cast<int>(std::ceil(std::log10(largest)));
  return {std::min(high - 1, static_cast<int>(std::floor(std::log10(smallest)))), high};
}

/// Returns the CSS class of a bar, which sets its color.
std::string_view kind_of(run::GradientMark mark) { return mark == run::GradientMark::none ? "dense" : "attention"; }

}  // namespace

std::string gradients_svg(const GradientsReport& report) {
  const Decades scale = decades_of(report);
  const double left = kMargin + kNameWidth, rows = kBarRow * static_cast<double>(report.rows.size());
  const double width = left + kBarWidth + kNoteWidth + kMargin, height = kScaleHeight + rows + kMargin + kBarRow;
  const double each = kBarWidth / static_cast<double>(scale.high - scale.low);
  const std::string title = fmt::format("{}: gradients of {}", shortened(printable(report.setting.model), kModelCells),
                                        printable(report.loss));
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<title>{2}</title>\n<style>\n{3}</style>\n",
      width, height, xml_text(title), page::kPlotCss.text);
  const int step = std::max(1, (scale.high - scale.low + kMostDecades - 1) / kMostDecades);
  for (int decade = scale.low; decade <= scale.high; decade += step) {
    const double x = left + each * (decade - scale.low);
    out += bar_text(x, kScaleHeight - 12, "detail", "middle", fmt::format("1e{}", decade));
    out += fmt::format("<path class=\"edge\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>\n", x, kScaleHeight - 6,
                       kScaleHeight + rows);
  }
  for (std::size_t i = 0; i < report.order.size(); ++i) {
    const run::GradientRow& row = report.rows[report.order[i]];
    const double y = kScaleHeight + kBarRow * static_cast<double>(i);
    out += bar_text(kMargin, y + kBarRow - 6, row.mark == run::GradientMark::none ? "detail" : "name", "start",
                    shortened(printable(row.name), kNameCells));
    double end = left;
    if (row.rms() > 0.0) {
      const double wide = std::max(1.0, each * (std::log10(row.rms()) - scale.low));
      end += wide;
      out += fmt::format(
          "<g class=\"{}\"><title>{}: {}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" "
          "height=\"{:.1f}\"/></g>\n",
          kind_of(row.mark), xml_text(printable(row.name)), fmt::format("{:.3g}", row.rms()), left, y + 3, wide,
          kBarRow - 6);
    }
    if (row.mark != run::GradientMark::none)
      out += bar_text(end + 6, y + kBarRow - 6, "name", "start", std::string(run::name_of(row.mark)));
  }
  const std::string foot =
      fmt::format("root mean squares; loss {}, global norm {:.3g}", number(report.value), report.norm);
  out += bar_text(left, kScaleHeight + rows + kBarRow, "detail", "start", foot);
  return out + "</svg>\n";
}

}  // namespace attn::report
