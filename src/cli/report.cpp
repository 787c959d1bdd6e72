#include <memory>

#include "attention_source.h"
#include "attn/report/model_page.h"
#include "attn/run/inputs.h"
#include "command.h"
#include "layer_graph.h"
#include "measurement.h"
#include "model_costs.h"

namespace attn::cli {
namespace {

struct ReportCommand {
  Common common;
  Execution execution;
  Heads heads;
  std::optional<std::string> model;
  std::vector<std::string> inputs;
  bool bench = false, no_heatmap = false;

  [[nodiscard]] int run() const {
    const LoadedModel loaded = load_model(model, execution, common.console);
    const keras::LowerOptions lower = lower_options(execution, read_inputs(loaded.model, inputs));
    report::ModelPage page;
    page.summary = loaded.model.summary();
    page.costs = costs_of(loaded.model, lower);
    page.graph = layer_graph(loaded.model, true);
    if (bench) page.bench = measured(loaded);
    if (!no_heatmap && has_attention(loaded.model, lower)) {
      const auto limits = [](const std::vector<run::ScoresLayout>&) {
        run::MapOptions out;
        out.most_cells = report::kMostPageCells;
        out.most_rows = 4096;
        return out;
      };
      page.heatmap = attention_of(loaded, execution, inputs, heads, limits, common.console);
    }
    write_result(report::model_page(page), common.output, Look::exact);
    return 0;
  }

  [[nodiscard]] report::BenchRow measured(const LoadedModel& loaded) const {
    const auto backend = open_backend(execution.device, execution.backend, common.console);
    const GivenInputs given = read_inputs(loaded.model, inputs);
    const keras::LowerOptions lower = lower_options(execution, given);
    graph::Graph graph = loaded.model.lower(lower);
    require_memory(loaded, lower, graph, *backend, execution);
    const std::vector<Tensor> tensors = run::make_inputs(graph, given.arrays, execution.seed);
    report::BenchRow row;
    row.setting = setting_of(loaded.name, graph, *backend, execution);
    const auto flops = static_cast<double>(run::total_flops(graph));
    run::reset_peak_memory();
    backends::CompileOptions compile = execution.compile_options();
    compile.tune = true;
    run::Session session(*backend, std::move(graph), load_weights(loaded, execution, common.console), compile);
    run::BenchOptions brief;
    brief.min_seconds = 1.0;
    time_session(session, tensors, flops, brief, common.console, row);
    row.samples_ms.clear();
    row.profile = profile_session(session, tensors, run::measure_peaks(*backend, DType::float32, compile));
    return row;
  }
};

}  // namespace

Run add_report(CLI::App& app) {
  auto command = std::make_shared<ReportCommand>();
  command->common.format = "html";
  add_common(app, command->common, {"html"});
  app.add_option("model", command->model, "Keras JSON, .keras, .h5, or short encoder config; - is stdin")
      ->type_name("MODEL");
  add_forward(app, command->execution, command->inputs);
  add_heads(app, command->heads);
  app.add_flag("--bench", command->bench, "measure the model too, for a second");
  app.add_flag("--no-heatmap", command->no_heatmap, "do not run the model for its attention weights");
  return [command] { return command->run(); };
}

}  // namespace attn::cli
