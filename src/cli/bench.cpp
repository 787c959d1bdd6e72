#include "attn/run/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "attention_bench.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/report/bench_view.h"
#include "attn/run/inputs.h"
#include "attn/run/padding.h"
#include "command.h"
#include "machine.h"
#include "measurement.h"
#include "prepared_model.h"
#include "range_list.h"

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
  std::optional<double> min_time, mean_length;
  bool profile = false, attention = false;
  AttentionSweep sweep;

  [[nodiscard]] int run() const {
    report::BenchReport report;
    report.machine = machine_name();
    attention ? measure_attention(report) : measure_model(report);
    if (baseline) add_baselines(report);
    write_result(text(report), common.output);
    return 0;
  }

  void measure_attention(report::BenchReport& report) const {
    if (model) throw bad_usage("bench --attention measures kernels and takes no MODEL");
    if (mean_length || execution.skip_padding)
      throw bad_usage("bench --attention measures kernels without padding: no --mean-length, no --skip-padding");
    AttentionSweep whole = sweep;
    if (!batches.empty()) whole.batches = batches;
    if (!lengths.empty()) whole.lengths = lengths;
    if (!dtypes.empty()) whole.dtypes = dtypes;
    for (const std::string& device : devices) {
      const auto backend = open_backend(device, execution.backend, common.console);
      for (report::BenchRow& row : attention_rows(whole, execution, *backend, bench_options(), common.console))
        report.rows.push_back(std::move(row));
    }
  }

  void measure_model(report::BenchReport& report) const {
    const LoadedModel loaded = load_model(model, execution, common.console);
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
    std::vector<Tensor> inputs = run::make_inputs(graph, {}, one.seed);
    if (mean_length) run::pad_randomly(graph, inputs, *mean_length, one.seed);

    report::BenchRow row;
    row.setting = setting_of(loaded.name, graph, backend, one);
    row.setting.mean_length = mean_length;
    if (one.skip_padding) skip_padding(graph, inputs, common.console);
    const double flops = static_cast<double>(run::total_flops(graph));

    run::reset_peak_memory();
    backends::CompileOptions compile = one.compile_options();
    compile.tune = true;
    run::Session session(backend, std::move(graph), load_weights(loaded, one), compile);
    note_choices(session, common.console);
    time_session(session, inputs, flops, bench_options(), common.console, row);
    if (profile) row.profile = profile_session(session, inputs);
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
  const auto sizes = [&app](const std::string& name, std::vector<std::int64_t>& list, const std::string& description) {
    return app
        .add_option_function<std::string>(
            name, [&list, name](const std::string& text) { list = parse_range_list(name, text); }, description)
        ->type_name("SIZES");
  };
  sizes("--batch", command->batches, "batch sizes: 1,8");
  sizes("--seq-len", command->lengths, "sequence lengths: 50,512 or 128-4096*2");
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
  app.add_option("--mean-length", command->mean_length,
                 "pad sequences to random lengths, this share of the whole in the mean: 0.6")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("SHARE");
  auto* attention = app.add_flag("--attention", command->attention, "measure attention kernels instead of a model");
  sizes("--head-dim", command->sweep.head_dims, "head sizes of --attention (64)")->needs(attention);
  app.add_option("--heads", command->sweep.heads, "query heads of --attention (16)")
      ->check(CLI::Range(1, 65536))
      ->needs(attention)
      ->type_name("N");
  app.add_option("--key-heads", command->sweep.key_heads, "key and value heads of --attention (as many)")
      ->check(CLI::Range(1, 65536))
      ->needs(attention)
      ->type_name("N");
  app.add_flag("--causal", command->sweep.causal, "--attention sees no later positions")->needs(attention);
  return [command] { return command->run(); };
}

}  // namespace attn::cli
