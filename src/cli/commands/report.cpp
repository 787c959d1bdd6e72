#include <map>
#include <memory>

#include "arguments/execution.h"
#include "arguments/heads.h"
#include "arguments/label_words.h"
#include "arguments/shared_options.h"
#include "attn/library/attention.h"
#include "attn/library/costs.h"
#include "attn/library/layer_graph.h"
#include "attn/library/setting.h"
#include "attn/open/execution.h"
#include "attn/open/input_files.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/report/model_page.h"
#include "attn/run/session.h"
#include "bench/model_bench.h"
#include "options/command.h"
#include "output/common.h"
#include "output/provenance.h"

namespace attn::cli {
namespace {

struct ReportCommand {
  Common common;
  open::Execution execution;
  library::Heads heads;
  std::optional<std::string> model;
  open::InputFiles inputs;
  LabelWords label_texts;
  bool bench = false, no_heatmap = false;

  void declare(Options& options) {
    add_common(options, common, {Format::html});
    add_model(options, model);
    add_forward(options, execution, inputs);
    label_texts.declare(options);
    add_heads(options, heads);
    options.flag("--bench", bench, "benchmark the model for one second");
    options.flag("--no-heatmap", no_heatmap, "omit the attention heatmaps and do not run the model");
  }

  [[nodiscard]] int run() const {
    refuse_page_on_terminal(common.form(), common.output, model);
    const open::LoadedModel loaded = open::load_model(model, execution, common.console);
    const open::GivenInputs given =
        open::read_input_files(loaded, label_texts.added_to(inputs), execution, common.console, heads.item + 1);
    const keras::LowerOptions lower = open::lower_options(execution, given);
    report::ModelPage page;
    page.summary = loaded.model.summary();
    page.costs = library::costs_of(loaded.model, lower);
    page.plan = planned(loaded, lower);
    page.graph = library::layer_graph(loaded.model, true);
    if (bench) page.bench = measured(loaded, given);
    if (!no_heatmap && library::has_attention(loaded.model, lower)) {
      const auto limits = [](const std::vector<run::ScoresLayout>&) {
        run::MapOptions out;
        out.most_cells = report::kMostPageCells;
        out.most_rows = 4096;
        return out;
      };
      page.heatmap = library::attention_of(loaded, execution, given, heads, limits, common.console);
    }
    page.provenance = provenance_of(model);
    common.write(report::render(common.form(), page), Formatting::exact);
    return 0;
  }

  [[nodiscard]] report::PlanReport planned(const open::LoadedModel& loaded, const keras::LowerOptions& lower) const {
    const auto backend = open::open_backend(execution.device, execution.backend, common.console);
    report::PlanReport out;
    out.lowered = loaded.model.lower(lower);
    out.setting = library::setting_of(loaded.name, out.lowered, *backend, execution);
    out.plan = run::plan_for(*backend, out.lowered).plan;
    return out;
  }

  [[nodiscard]] std::optional<report::BenchRow> measured(const open::LoadedModel& loaded,
                                                         const open::GivenInputs& given) const {
    std::optional<report::BenchRow> out;
    std::map<DType, run::Peaks> peaks;
    BenchPlan plan;
    plan.execution = execution;
    plan.given = given;
    plan.options.min_seconds = 1.0;
    plan.profile = true;
    plan.console = &common.console;
    plan.peaks = [&](const backends::Backend& backend, DType dtype) -> const run::Peaks& {
      const run::Peaks* const memory = peaks.empty() ? nullptr : &peaks.begin()->second;
      const auto found = peaks.find(dtype);
      if (found != peaks.end()) return found->second;
      return peaks.emplace(dtype, run::measure_peaks(backend, dtype, execution.compile_options(), memory))
          .first->second;
    };
    plan.emit = [&](report::BenchRow row) {
      warn_of_wrong_outputs(row, common.console);
      row.samples_ms.clear();
      out = std::move(row);
    };
    measure_model(plan, loaded, *open::open_backend(execution.device, execution.backend, common.console));
    return out;
  }
};

}  // namespace

Command report_command() {
  return command_of<ReportCommand>("report", "write one HTML page with summary, costs, attention and graph");
}

}  // namespace attn::cli
