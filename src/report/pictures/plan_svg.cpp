#include "plan_svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "drawing/page_assets.h"
#include "plan/plan_steps.h"
#include "plot_layout.h"
#include "text/escape.h"

namespace attn::report {
namespace {

constexpr double kLabels = 300, kArena = 760, kRow = 20, kTop = 46;
constexpr int kLabelCells = 40, kTitleCells = 400, kTicks = 4;

std::string text_at(double x, double y, std::string_view style, std::string_view anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, style, anchor,
                     xml_text(text));
}

}  // namespace

std::string plan_svg(const PlanReport& report) {
  const PlanSteps plan = steps_of(report);
  const auto arena = static_cast<double>(std::max<std::int64_t>(1, report.plan.arena_bytes));
  const double left = kMargin + kLabels, rows = kRow * static_cast<double>(plan.steps.size());
  const double width = left + kArena + kMargin, height = kTop + rows + kMargin + kRow;
  const std::string title = fmt::format("{}: the arena, {}", shortened(printable(report.setting.model), kTitleCells),
                                        byte_size(report.plan.arena_bytes));
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<title>{2}</title>\n<style>\n{3}</style>\n",
      width, height, xml_text(title), page::kPlotCss.text);
  for (int tick = 0; tick <= kTicks; ++tick) {
    const double x = left + kArena * tick / kTicks;
    out += text_at(x, kTop - 12, "detail",
                   tick == 0        ? "start"
                   : tick == kTicks ? "end"
                                    : "middle",
                   byte_size(report.plan.arena_bytes * tick / kTicks));
    out += fmt::format("<path class=\"edge\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>\n", x, kTop - 6, kTop);
  }
  for (std::size_t number = 0; number < plan.steps.size(); ++number) {
    const PlanStep& step = plan.steps[number];
    const bool peak = static_cast<int>(number) == plan.peak_step;
    const double y = kTop + kRow * static_cast<double>(number);
    const std::string label = fmt::format("{} {} {}", number, printable(step.layer), step.operation);
    out += text_at(kMargin, y + kRow - 6, peak ? "name" : "detail", "start", shortened(label, kLabelCells));
    if (peak)
      out += fmt::format("<g class=\"box\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/></g>\n",
                         left, y, kArena, kRow);
  }
  for (const plan::Allocation& allocation : plan.allocations) {
    const PlanStep& step = plan.steps[static_cast<std::size_t>(allocation.first)];
    const double x = left + kArena * static_cast<double>(allocation.offset) / arena;
    const double wide = std::max(1.0, kArena * static_cast<double>(allocation.bytes) / arena);
    const double y = kTop + kRow * allocation.first;
    const double end = kTop + kRow * static_cast<double>(std::min<std::size_t>(
                                         static_cast<std::size_t>(allocation.last) + 1, plan.steps.size()));
    out += fmt::format(
        "<g class=\"{}\"><title>{}</title><rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"/>",
        layer_kind(step.class_name), xml_lines(title_of(report, plan, allocation)), x, y, wide, end - y);
    const int room = static_cast<int>((wide - 10) / kCell);
    if (room >= 4) out += text_at(x + 5, y + kRow - 6, "detail", "start", shortened(step.operation, room));
    out += "</g>\n";
  }
  const std::string foot = fmt::format("{}, {} at step {}; {} without sharing", byte_size(report.plan.arena_bytes),
                                       byte_size(plan.peak_bytes), plan.peak_step, byte_size(plan.unshared_bytes));
  out += text_at(left, kTop + rows + kRow, "detail", "start", foot);
  return out + "</svg>\n";
}

}  // namespace attn::report
