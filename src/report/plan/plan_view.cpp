#include "attn/report/plan_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "attn/base/text.h"
#include "attn/report/json.h"
#include "attn/report/number.h"
#include "attn/report/setting.h"
#include "attn/report/table.h"
#include "pictures/plan_svg.h"
#include "plan_cache.h"
#include "plan_steps.h"

namespace attn::report {
namespace {

constexpr std::size_t kMostRows = 96;  // rows of the picture; with more steps, several share one
constexpr std::size_t kMostIdle = 6;   // maximum number of layers listed in a line

std::string list_of(const std::vector<PlanChange>& changes) {
  std::vector<std::string> parts;
  for (const PlanChange& change : changes) parts.push_back(fmt::format("{} {}", change.count, change.operation));
  return join(parts, ", ");
}

std::string passes_text(const PlanReport& report, const PlanSteps& plan) {
  const auto prepared = static_cast<std::int64_t>(report.plan.prepare.size());
  std::string out = counted(plan.lowered, "operation") + " in the layers, " +
                    counted(static_cast<std::int64_t>(plan.steps.size()), "step") + " after optimization";
  if (prepared > 0) out += fmt::format("; {} once before the first run", counted(prepared, "runs", "run"));
  if (plan.views > 0) out += fmt::format("; {}", counted(plan.views, "only views its input", "only view their input"));
  out += '\n';
  std::vector<std::string> fused;
  if (plan.activations > 0)
    fused.push_back(counted(plan.activations, "activation into its product", "activations into their products"));
  if (plan.residuals > 0) fused.push_back(counted(plan.residuals, "sum into its product", "sums into their products"));
  if (plan.packed > 0) fused.push_back(fmt::format("query, key and value of {}", counted(plan.packed, "attention")));
  if (plan.products > 0) fused.push_back(counted(plan.products, "einsum as a product", "einsums as products"));
  if (!fused.empty()) out += fmt::format("  fused: {}\n", join(fused, "; "));
  if (!plan.removed.empty()) out += fmt::format("  removed: {}\n", list_of(plan.removed));
  if (!plan.added.empty()) out += fmt::format("  added: {}\n", list_of(plan.added));
  if (plan.in_place > 0)
    out += fmt::format("  in place: {} over values that are no longer read\n",
                       counted(plan.in_place, "step writes", "steps write"));
  if (!plan.idle.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, class_name] : plan.idle) {
      if (names.size() == kMostIdle) break;
      names.push_back(fmt::format("{} ({})", printable(name), printable(class_name)));
    }
    if (plan.idle.size() > kMostIdle) names.push_back(fmt::format("{} more", plan.idle.size() - kMostIdle));
    out += fmt::format("  layers without a step of their own: {}\n", join(names, ", "));
  }
  return out;
}

std::string memory_text(const PlanReport& report, const PlanSteps& plan) {
  std::string out = fmt::format("Arena {}", byte_size(report.plan.arena_bytes));
  if (!plan.steps.empty()) out += fmt::format(", peak {} at step {}", byte_size(plan.peak_bytes), plan.peak_step);
  out += fmt::format("; {} without sharing\n", byte_size(plan.unshared_bytes));
  return out + fmt::format("Weights {}, prepared {}, inputs {}\n", byte_size(report.plan.weight_bytes),
                           byte_size(report.plan.prepared_bytes), byte_size(report.plan.input_bytes));
}

/// The state of an address range of the arena at a step; the later value has priority.
enum class Use : std::uint8_t { none, kept, read, written };

/// Returns the states of `cells` equal parts of the arena during the steps [from, to).
std::vector<Use> uses_of(const PlanSteps& plan, std::int64_t arena, std::size_t cells, std::size_t from,
                         std::size_t to) {
  std::vector<Use> out(cells, Use::none);
  const auto mark = [&](const plan::Allocation& allocation, Use use) {
    if (allocation.bytes == 0) return;
    const double scale = static_cast<double>(cells) / static_cast<double>(arena);
    const auto first = static_cast<std::size_t>(static_cast<double>(allocation.offset) * scale);
    const auto last = static_cast<std::size_t>(static_cast<double>(allocation.offset + allocation.bytes - 1) * scale);
    for (std::size_t cell = first; cell <= std::min(last, cells - 1); ++cell) out[cell] = std::max(out[cell], use);
  };
  for (const plan::Allocation& allocation : plan.allocations)
    if (allocation.first < static_cast<int>(to) && static_cast<int>(from) <= allocation.last)
      mark(allocation, Use::kept);
  for (std::size_t number = from; number < to; ++number) {
    for (const std::size_t read : plan.steps[number].reads) mark(plan.allocations[read], Use::read);
    for (const PlanResult& result : plan.steps[number].results) mark(plan.allocations[result.allocation], Use::written);
  }
  return out;
}

std::string picture(const PlanReport& report, const PlanSteps& plan, int columns) {
  const std::size_t steps = plan.steps.size();
  if (steps == 0 || report.plan.arena_bytes == 0) return "";
  constexpr std::string_view kPeak = " ← peak";
  const std::size_t each = (steps + kMostRows - 1) / kMostRows;
  const auto label = [&](std::size_t from) {
    return each == 1 ? std::to_string(from) : fmt::format("{}-{}", from, std::min(from + each, steps) - 1);
  };
  const int wide = static_cast<int>(label((steps - 1) / each * each).size());
  const auto cells = static_cast<std::size_t>(std::max(8, columns - wide - 1 - display_width(kPeak)));
  std::string out = fmt::format("\nThe arena from 0 to {} across, steps down: █ written, ▒ read, ░ kept\n",
                                byte_size(report.plan.arena_bytes));
  for (std::size_t from = 0; from < steps; from += each) {
    const std::size_t to = std::min(from + each, steps);
    out += fmt::format("{:>{}} ", label(from), wide);
    std::string line;
    std::size_t drawn = 0;
    for (const Use use : uses_of(plan, report.plan.arena_bytes, cells, from, to)) {
      line += use == Use::written ? "█" : use == Use::read ? "▒" : use == Use::kept ? "░" : " ";
      if (use != Use::none) drawn = line.size();
    }
    line.resize(drawn);
    const auto peak = static_cast<std::size_t>(plan.peak_step);
    out += line + (from <= peak && peak < to ? std::string(kPeak) : "") + '\n';
  }
  return out;
}

Json changes_json(const std::vector<PlanChange>& changes) {
  Json json = Json::object();
  for (const PlanChange& change : changes) json[change.operation] = change.count;
  return json;
}

Json step_json(const PlanReport& report, const PlanSteps& plan, std::size_t number) {
  const PlanStep& step = plan.steps[number];
  Json json;
  json["step"] = number;
  json["layer"] = json_text(step.layer);
  json["class_name"] = json_text(step.class_name);
  json["operation"] = step.operation;
  if (!report.kernels.empty()) {
    json["kernel"] = json_text(step.kernel);
    json["why"] = step.why.empty() ? Json(nullptr) : json_text(step.why);
  }
  json["live_bytes"] = step.live_bytes;
  json["results"] = Json::array();
  for (const PlanResult& result : step.results) {
    const graph::Value& value = report.plan.graph.value(result.value);
    Json one;
    one["shape"] = json_shape(value.shape);
    one["dtype"] = name_of(value.dtype);
    one["bytes"] = result.bytes;
    const plan::Allocation& allocation = plan.allocations[result.allocation];
    one["offset"] = allocation.offset;
    one["last_read"] = to_the_end(allocation, plan) ? Json(nullptr) : Json(allocation.last);
    one["in_place_of"] = result.in_place_of ? Json(*result.in_place_of) : Json(nullptr);
    json["results"].push_back(std::move(one));
  }
  return json;
}

std::string plan_text(const PlanReport& report, int columns) {
  const PlanSteps plan = steps_of(report);
  return fmt::format("{}: {}\n\n", printable(report.setting.model), setting_text(report.setting)) +
         plain_table(steps_table(report, plan)) + '\n' + passes_text(report, plan) + '\n' + memory_text(report, plan) +
         picture(report, plan, columns) + (report.cache ? '\n' + cache_text(*report.cache) : "");
}

std::string plan_json(const PlanReport& report) {
  const PlanSteps plan = steps_of(report);
  Json json;
  json["schema"] = "attn.plan/1";
  json.update(setting_json(report.setting));
  json["operations"] = {{"lowered", plan.lowered},
                        {"steps", plan.steps.size()},
                        {"prepared", report.plan.prepare.size()},
                        {"views", plan.views},
                        {"in_place", plan.in_place},
                        {"fused_activations", plan.activations},
                        {"fused_sums", plan.residuals},
                        {"packed_attentions", plan.packed},
                        {"einsums_as_products", plan.products},
                        {"removed", changes_json(plan.removed)},
                        {"added", changes_json(plan.added)}};
  json["idle_layers"] = Json::array();
  for (const auto& [name, class_name] : plan.idle)
    json["idle_layers"].push_back({{"name", json_text(name)}, {"class_name", json_text(class_name)}});
  json["arena"] = {{"bytes", report.plan.arena_bytes},
                   {"peak_step", plan.steps.empty() ? Json(nullptr) : Json(plan.peak_step)},
                   {"peak_bytes", plan.peak_bytes},
                   {"unshared_bytes", plan.unshared_bytes}};
  json["memory"] = {{"weights", report.plan.weight_bytes},
                    {"prepared", report.plan.prepared_bytes},
                    {"inputs", report.plan.input_bytes},
                    {"most", report.memory_bytes}};
  if (report.cache) json["cache"] = cache_json(*report.cache);
  json["steps"] = Json::array();
  for (std::size_t number = 0; number < plan.steps.size(); ++number)
    json["steps"].push_back(step_json(report, plan, number));
  return json_document(json);
}

}  // namespace

std::string render(Format format, const PlanReport& report, int columns) {
  switch (format) {
    case Format::table:
      return plan_text(report, columns);
    case Format::json:
      return plan_json(report);
    case Format::svg:
      return plan_svg(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
