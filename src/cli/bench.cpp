#include "attn/run/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/report/bench_view.h"
#include "attn/run/inputs.h"
#include "command.h"
#include "machine.h"
#include "prepared_model.h"

namespace attn::cli {
namespace {

struct BenchCommand {
  Common common;
  Execution execution;
  std::optional<std::string> model, baseline;
  std::vector<std::string> devices{"cpu"};
  std::vector<std::string> dtypes;
  std::vector<std::int64_t> batches, lengths;
  run::BenchOptions options;
  std::optional<std::int64_t> warmup, iterations;
  std::optional<double> min_time;
  bool profile = false;

  [[nodiscard]] int run() const {
    const LoadedModel loaded = load_model(model, execution.input_shape, common.console);
    report::BenchReport report;
    report.machine = machine_name();
    // What is not given is one measurement with the model's own value.
    const auto each = [](const auto& list) {
      using Value = typename std::decay_t<decltype(list)>::value_type;
      std::vector<std::optional<Value>> out(list.begin(), list.end());
      if (out.empty()) out.emplace_back();
      return out;
    };
    for (const std::string& device : devices) {
      const auto backend = open_backend(device, execution.backend, common.console);
      for (const auto& dtype : each(dtypes))
        for (const auto& batch : each(batches))
          for (const auto& length : each(lengths)) {
            Execution one = execution;
            one.dtype = dtype;
            one.batch = batch;
            one.sequence_length = length;
            report.rows.push_back(measured(loaded, one, *backend));
          }
    }
    if (baseline) add_baselines(report);
    write_result(text(report), common.output);
    return 0;
  }

  [[nodiscard]] std::string text(const report::BenchReport& report) const {
    if (common.format == "json") return report::bench_json(report);
    if (common.format == "markdown") return report::bench_markdown(report);
    if (common.format == "csv") return report::bench_csv(report);
    return report::bench_text(report);
  }

  [[nodiscard]] report::BenchRow measured(const LoadedModel& loaded, const Execution& one,
                                          const backends::Backend& backend) const {
    keras::LowerOptions lower;
    lower.batch = one.batch;
    lower.sequence_length = one.sequence_length;
    lower.dtype = one.dtype;
    graph::Graph graph = loaded.model.lower(lower);
    const std::vector<Tensor> inputs = run::make_inputs(graph, {}, one.seed);

    report::BenchRow row;
    row.setting = setting_of(loaded, graph, backend, one);
    const double flops = static_cast<double>(run::total_flops(graph));

    run::reset_peak_memory();
    backends::CompileOptions compile = one.compile_options();
    compile.tune = true;
    run::Session session(backend, std::move(graph), load_weights(loaded, one), compile);
    note_choices(session, common.console);
    const std::vector<double> seconds = run::measure([&] { session.run(inputs); }, bench_options());
    check_outputs(session);

    row.iterations = static_cast<std::int64_t>(seconds.size());
    row.ms = run::latency_of(seconds);
    row.peak_bytes = run::peak_memory();
    row.gflop = flops * 1e-9;
    row.gflops_per_second = row.ms.median > 0.0 ? row.gflop / (row.ms.median * 1e-3) : 0.0;
    if (row.setting.seq_len)
      row.tokens_per_second = static_cast<double>(row.setting.batch * *row.setting.seq_len) / (row.ms.median * 1e-3);
    if (profile) add_profile(session, inputs, row);
    return row;
  }

  [[nodiscard]] run::BenchOptions bench_options() const {
    run::BenchOptions out = options;
    if (warmup) {
      out.warmup_runs = *warmup;
      out.warmup_seconds = 0.0;
    }
    if (min_time) out.min_seconds = *min_time;
    if (iterations) {
      out.min_runs = out.max_runs = *iterations;
    }
    return out;
  }

  /// A speed of wrong numbers is none: what should be finite must be.
  void check_outputs(const run::Session& session) const {
    for (const NamedTensor& output : session.outputs())
      for (std::int64_t i = 0; i < output.tensor.size(); ++i)
        if (!std::isfinite(output.tensor.at(i))) {
          common.console.warn(
              fmt::format("the output '{}' holds NaN or infinity; its speed may mean nothing", printable(output.name)));
          break;
        }
  }

  static void add_profile(run::Session& session, const std::vector<Tensor>& inputs, report::BenchRow& row) {
    // The median pass of a few, step by step.
    std::vector<std::vector<run::StepTime>> passes;
    for (int i = 0; i < 5; ++i) passes.push_back(session.profile(inputs));
    for (std::size_t step = 0; step < passes.front().size(); ++step) {
      std::vector<double> seconds;
      for (const auto& pass : passes) seconds.push_back(pass[step].seconds);
      std::nth_element(seconds.begin(), seconds.begin() + 2, seconds.end());
      const run::StepTime& time = passes.front()[step];
      row.profile.push_back(
          {time.layer, time.operation, time.kernel, seconds[2] * 1e3, static_cast<double>(time.flops) * 1e-9});
    }
  }

  /// Medians of an earlier `attn bench --json`, by setting.
  void add_baselines(report::BenchReport& report) const {
    const io::Bytes file = io::read_file(*baseline);
    const std::vector<report::BenchRow> earlier = report::parse_bench_json(*baseline, file.text());
    for (report::BenchRow& row : report.rows) {
      const auto match = std::find_if(earlier.begin(), earlier.end(),
                                      [&](const report::BenchRow& old) { return old.setting == row.setting; });
      if (match == earlier.end()) continue;
      // Slower beyond the spread: the fast tenth of now is slower than the slow tenth of then.
      row.baseline = report::Baseline{match->ms.median, row.ms.p10 > match->ms.p90};
    }
  }
};

}  // namespace

Run add_bench(CLI::App& app) {
  auto command = std::make_shared<BenchCommand>();
  add_common(app, command->common, {"table", "json", "markdown", "csv"});
  app.add_option("model", command->model, "Keras JSON, .keras, or short encoder config; - is stdin")
      ->type_name("MODEL");
  add_execution(app, command->execution);
  app.add_option("--device", command->devices, "cpu, cuda; several: cpu,cuda")->delimiter(',')->type_name("DEVICE,…");
  app.add_option("--dtype", command->dtypes, "float32, bfloat16, float16; several: float32,bfloat16")
      ->delimiter(',')
      ->type_name("DTYPE,…");
  app.add_option("--batch", command->batches, "batch sizes: 1,8")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->type_name("N,…");
  app.add_option("--seq-len", command->lengths, "sequence lengths: 50,512")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->type_name("N,…");
  app.add_option("--threads", command->execution.threads, "0: all cores")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  app.add_option("--warmup", command->warmup, "passes before timing")->check(CLI::NonNegativeNumber)->type_name("N");
  app.add_option("--min-time", command->min_time, "time for at least this many seconds (1)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("S");
  app.add_option("--iterations", command->iterations, "time exactly this many passes")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_flag("--profile", command->profile, "show the time of each layer");
  app.add_option("--baseline", command->baseline, "compare with an earlier attn bench --json")->type_name("FILE");
  return [command] { return command->run(); };
}

}  // namespace attn::cli
