#include "training_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "drawing/page_assets.h"
#include "plot_layout.h"
#include "text/escape.h"

namespace attn::report {
namespace {

using Points = std::vector<std::pair<double, double>>;

constexpr double kCurveLeft = 84, kCurveWidth = 760, kLossHeight = 320, kRateHeight = 90, kCurveTop = 40,
                 kPanelGap = 46;
constexpr std::size_t kCurvePoints = 800;

constexpr const char* kCurveCss =
    ".plot .step { fill: none; stroke: #b9c2d0; stroke-width: 1; }\n"
    ".plot .train { fill: none; stroke: #7fa8dd; stroke-width: 2; }\n"
    ".plot .validation { fill: none; stroke: #dd9a4a; stroke-width: 2; }\n";

/// Reduces points to the visible resolution by averaging neighbors.
Points thinned(const Points& points) {
  const std::size_t each = (points.size() + kCurvePoints - 1) / kCurvePoints;
  if (each <= 1) return points;
  Points out;
  for (std::size_t first = 0; first < points.size(); first += each) {
    const std::size_t end = std::min(points.size(), first + each);
    double x = 0.0, y = 0.0;
    for (std::size_t i = first; i < end; ++i) {
      x += points[i].first;
      y += points[i].second;
    }
    const auto count = static_cast<double>(end - first);
    out.emplace_back(x / count, y / count);
  }
  return out;
}

/// A box with two axes.
class Panel {
 public:
  Panel(double top, double height, double first, double last, const std::vector<Points>& curves)
      : top_(top), height_(height), first_(first), last_(std::max(last, first + 1)) {
    for (const Points& curve : curves) {
      for (const auto& [x, y] : curve) {
        if (!std::isfinite(y)) continue;
        low_ = std::min(low_, y);
        high_ = std::max(high_, y);
      }
    }
    if (low_ > high_) low_ = high_ = 0.0;
    if (high_ - low_ < 1e-12 * std::max(1.0, std::abs(high_))) {
      high_ += std::abs(high_) > 0.0 ? 0.1 * std::abs(high_) : 1.0;
      low_ -= low_ > 0.0 ? 0.1 * low_ : 0.0;
    }
  }

  [[nodiscard]] std::string axes() const {
    std::string out;
    constexpr int kLines = 4;
    for (int i = 0; i <= kLines; ++i) {
      const double y = low_ + (high_ - low_) * i / kLines;
      out += fmt::format("<path class=\"edge\" stroke-opacity=\"0.3\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", kCurveLeft,
                         at_y(y), kCurveWidth);
      out += label(kCurveLeft - 8, at_y(y) + 4, "end", fmt::format("{:.3g}", y));
    }
    return out;
  }
  [[nodiscard]] std::string steps() const {
    std::string out;
    for (const double x : {first_, std::round((first_ + last_) / 2), last_})
      out += label(at_x(x), top_ + height_ + 18, "middle", fmt::format("{:.0f}", x));
    return out;
  }
  [[nodiscard]] std::string curve(const Points& points, std::string_view style) const {
    std::string path;
    for (const auto& [x, y] : points)
      if (std::isfinite(y)) path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at_x(x), at_y(y));
    return path.empty() ? "" : fmt::format("<path class=\"{}\" d=\"{}\"/>\n", style, path);
  }
  static std::string label(double x, double y, std::string_view anchor, const std::string& text,
                           std::string_view style = "detail") {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, style,
                       anchor, xml_text(text));
  }

 private:
  [[nodiscard]] double at_x(double x) const { return kCurveLeft + kCurveWidth * (x - first_) / (last_ - first_); }
  [[nodiscard]] double at_y(double y) const { return top_ + height_ * (1.0 - (y - low_) / (high_ - low_)); }

  double top_, height_, first_, last_;
  double low_ = INFINITY, high_ = -INFINITY;
};

Points of_epochs(const TrainingReport& report, const std::string& name) {
  Points out;
  const auto found = report.history.find(name);
  if (found == report.history.end()) return out;
  for (std::size_t i = 0; i < std::min(found->second.size(), report.ends_of_epochs.size()); ++i)
    out.emplace_back(static_cast<double>(report.ends_of_epochs[i]), found->second[i].front());
  return out;
}

}  // namespace

std::string training_svg(const TrainingReport& report) {
  Points steps, rates;
  for (const train::Point& point : report.points) {
    steps.emplace_back(static_cast<double>(point.step), point.loss);
    rates.emplace_back(static_cast<double>(point.step), point.learning_rate);
  }
  steps = thinned(steps);
  rates = thinned(rates);
  const Points train = of_epochs(report, "loss"), validation = of_epochs(report, "val_loss");
  const double first = report.points.empty() ? 0.0 : static_cast<double>(report.points.front().step);
  const double last = report.points.empty() ? 1.0 : static_cast<double>(report.points.back().step);
  const Panel loss(kCurveTop, kLossHeight, first, last, {steps, train, validation});
  const double rate_top = kCurveTop + kLossHeight + kPanelGap;
  const Panel rate(rate_top, kRateHeight, first, last, {rates});

  const double width = kCurveLeft + kCurveWidth + kMargin, height = rate_top + kRateHeight + kPanelGap;
  const std::string title = fmt::format("{}: {}", printable(report.setting.model), printable(report.loss));
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<title>{2}</title>\n<style>\n{3}{4}</style>\n",
      width, height, xml_text(title), page::kPlotCss.text, kCurveCss);
  out += Panel::label(kMargin, 22, "start", title, "name");
  out += loss.axes() + loss.curve(steps, "step") + loss.curve(train, "train") + loss.curve(validation, "validation");
  double x = kCurveLeft + kCurveWidth;
  const auto legend = [&](const Points& curve, std::string_view style, const std::string& name) {
    if (curve.empty()) return;
    x -= kCell * static_cast<double>(name.size());
    out += Panel::label(x, kCurveTop - 6, "start", name);
    out += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}h18\"/>\n", style, x - 24, kCurveTop - 10);
    x -= 40;
  };
  legend(validation, "validation", "val_loss");
  legend(train, "train", "loss");
  legend(steps, "step", "loss of a step");
  out += Panel::label(kCurveLeft, rate_top - 8, "start", "learning rate");
  out += rate.axes() + rate.steps() + rate.curve(rates, "train");
  out += Panel::label(kCurveLeft + kCurveWidth / 2, height - 10, "middle", "steps");
  return out + "</svg>\n";
}

}  // namespace attn::report
