#include "attn/report/model_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "attn/report/setting.h"
#include "drawing/page.h"
#include "heatmap_page.h"
#include "plan/plan_steps.h"
#include "plot_layout.h"
#include "text/escape.h"
#include "views/costs_rows.h"

namespace attn::report {
namespace {

using Properties = std::vector<std::pair<std::string, std::string>>;

Json layers_section(const keras::Summary& summary) {
  Table table{{{"Layer (type)"}, {"Output shape"}, {"Params", Align::right}}, {}};
  if (!summary.sequential_like) table.columns.push_back({"Connected to"});
  for (const keras::SummaryRow& row : summary.rows) {
    std::string indent;
    for (int level = 0; level < row.level; ++level) indent += "· ";
    std::vector<std::string> cells = {fmt::format("{}{} ({})", indent, row.name, row.class_name), row.output_shape_text,
                                      row.built ? with_commas(row.params) : "0 (unbuilt)"};
    if (!summary.sequential_like) cells.push_back(join(row.connected_to, ", "));
    table.rows.push_back(std::move(cells));
  }
  Json section = table_section("Layers", table);
  section["layers"] = Json::array();  // enables the graph to find a row
  for (const keras::SummaryRow& row : summary.rows) section["layers"].push_back(page_text(row.name));
  return section;
}

Properties summary_facts(const keras::Summary& summary) {
  const auto sized = [](keras::Count count, keras::Count bytes) {
    return fmt::format("{} ({})", with_commas(count), memory_size(bytes));
  };
  return {{"Class", summary.class_name},
          {"Total params", sized(summary.total_params, summary.total_bytes)},
          {"Trainable params", sized(summary.trainable_params, summary.trainable_bytes)},
          {"Non-trainable params", sized(summary.non_trainable_params, summary.non_trainable_bytes)}};
}

void add_costs(Page& page, const CostReport& costs) {
  CostOptions options;
  options.expand_nested = true;
  Properties facts;
  for (const CostLine& line : costs_totals(costs, options)) facts.emplace_back(line.what, line.text);
  std::string size = fmt::format("At batch {}", costs.batch);
  if (costs.seq_len) size += fmt::format(", length {}", *costs.seq_len);
  Json totals = facts_section("Costs", facts);
  totals["notes"] = {size + ". Peak is the planned maximum of memory during a pass."};
  page.sections.push_back(std::move(totals));
  page.sections.push_back(table_section("", costs_as_table(costs, options)));
}

/// Returns the arena as drawn by plan_svg: offsets across, steps down.
Json arena_section(const PlanReport& report, const PlanSteps& plan) {
  constexpr double kArena = 960, kRow = 30;
  const auto arena = static_cast<double>(std::max<std::int64_t>(1, report.plan.arena_bytes));
  DrawnPlot drawing;
  drawing.size = {kArena, kRow * static_cast<double>(plan.steps.size())};
  for (const plan::Allocation& allocation : plan.allocations) {
    const PlanStep& step = plan.steps[static_cast<std::size_t>(allocation.first)];
    const double behind = std::min(static_cast<double>(allocation.last) + 1, static_cast<double>(plan.steps.size()));
    DrawnNode node;
    node.kind = layer_kind(step.class_name);
    node.corner = {kArena * static_cast<double>(allocation.offset) / arena, kRow * allocation.first};
    node.size = {std::max(1.0, kArena * static_cast<double>(allocation.bytes) / arena),
                 kRow * (behind - allocation.first)};
    node.title = title_of(report, plan, allocation);
    const int room = static_cast<int>((node.size.width - 20) / kCell);
    if (room >= 4) node.lines = {shortened(fmt::format("{} {}", allocation.first, step.operation), room)};
    drawing.nodes.push_back(std::move(node));
  }
  Json section = drawn_json(drawing);
  section["kind"] = "plot";
  section["title"] = "";
  section["line_height"] = kLineHeight;
  section["notes"] = {fmt::format("The arena from 0 to {} across, steps down.", byte_size(report.plan.arena_bytes))};
  return section;
}

void add_plan(Page& page, const PlanReport& report) {
  const PlanSteps plan = steps_of(report);
  Json facts =
      facts_section("Plan", {{"Arena", byte_size(report.plan.arena_bytes)},
                             {"Fullest", fmt::format("{} at step {}", byte_size(plan.peak_bytes), plan.peak_step)},
                             {"Without sharing", byte_size(plan.unshared_bytes)},
                             {"Weights", byte_size(report.plan.weight_bytes)},
                             {"Prepared", byte_size(report.plan.prepared_bytes)},
                             {"Inputs", byte_size(report.plan.input_bytes)}});
  facts["notes"] = {setting_text(report.setting)};
  page.sections.push_back(std::move(facts));
  if (plan.steps.empty()) return;
  if (report.plan.arena_bytes > 0) page.sections.push_back(arena_section(report, plan));
  page.sections.push_back(table_section("", steps_table(report, plan)));
}

void add_bench(Page& page, const BenchRow& row) {
  Properties facts = {
      {"Latency", fmt::format("{} ms, the median of {} passes; 80% took {} to {} ms", measured(row.ms.median),
                              with_commas(row.iterations), measured(row.ms.p10), measured(row.ms.p90))},
      {"Speed", prefixed(row.gflops_per_second * 1e9, "FLOP/s")}};
  if (row.tokens_per_second) facts.emplace_back("Throughput", prefixed(*row.tokens_per_second, "tokens/s"));
  facts.emplace_back("Memory", byte_size(row.peak_bytes));
  Json section = facts_section("Speed", facts);
  section["notes"] = {setting_text(row.setting)};
  page.sections.push_back(std::move(section));

  Table table{{{"Layer"}, {"Operation"}, {"Kernel"}, {"ms", Align::right}, {"Share", Align::right}}, {}};
  double total = 0;
  for (const ProfileRow& step : row.profile) total += step.ms;
  std::vector<const ProfileRow*> steps;
  for (const ProfileRow& step : row.profile) steps.push_back(&step);
  std::stable_sort(steps.begin(), steps.end(), [](const auto* a, const auto* b) { return a->ms > b->ms; });
  constexpr std::size_t kShown = 20;
  const std::size_t all = steps.size();
  steps.resize(std::min(all, kShown));
  for (const ProfileRow* step : steps)
    table.rows.push_back({step->layer.empty() ? "-" : step->layer, step->operation, step->implementation,
                          measured(step->ms), percent(total > 0 ? step->ms / total : 0)});
  Json profile = table_section("", table);
  profile["notes"] = {all > kShown ? fmt::format("The {} slowest of {} steps of a pass.", kShown, all)
                                   : "The steps of a pass, the slowest first."};
  page.sections.push_back(std::move(profile));
}

}  // namespace

std::string render(Format format, const ModelPage& model) {
  if (format != Format::html) refuse(format);
  Page page;
  page.title = model.summary.name;
  page.sections.push_back(facts_section("Summary", summary_facts(model.summary)));
  page.sections.push_back(layers_section(model.summary));
  add_costs(page, model.costs);
  add_plan(page, model.plan);
  if (model.bench) add_bench(page, *model.bench);
  if (model.heatmap) {
    page.warnings = heatmap_warnings(*model.heatmap);
    add_heatmap(page, "Attention", *model.heatmap);
    Json& notes = page.sections.back()["notes"];
    std::vector<std::string> about = heatmap_about(*model.heatmap);
    for (const Json& note : notes) about.push_back(note);
    notes = about;
  }
  Json graph = drawn_json(draw(model.graph));
  graph["kind"] = "plot";
  graph["title"] = "Graph";
  graph["layers"] = true;  // its nodes are linked to rows of the table
  graph["line_height"] = kLineHeight;
  page.sections.push_back(std::move(graph));
  add_provenance(page, model.provenance);
  return html(page);
}

}  // namespace attn::report
