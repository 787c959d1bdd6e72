#include "attn/run/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <functional>
#include <map>
#include <memory>

#include "arguments/execution.h"
#include "arguments/range_list.h"
#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/report/bench/bench_json.h"
#include "attn/report/bench/bench_view.h"
#include "attn/report/setting.h"
#include "attn/run/machine.h"
#include "bench/attention_bench.h"
#include "bench/decoder_bench.h"
#include "bench/environment.h"
#include "bench/links.h"
#include "bench/model_bench.h"
#include "bench/parallel_bench.h"
#include "bench/plan.h"
#include "bench/training_bench.h"
#include "options/command.h"
#include "output/common.h"
#include "output/interrupt.h"
#include "output/progress.h"
#include "ranks/parallel_plan.h"

namespace attn::cli {
namespace {

/// Returns 0.05 for "5%" or "5".
double parse_percent(const std::string& text) {
  double percent = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, percent);
  const bool whole = rest == end || (rest + 1 == end && *rest == '%');
  if (error != std::errc() || !whole || !(percent >= 0 && percent <= 1e6))
    throw bad_usage("--fail-if-slower {}: expected a percentage, such as 5%", printable(text));
  return percent / 100;
}

/// Accepts 0 in addition to a list of sizes.
std::vector<std::int64_t> parse_depths(const std::string& text) {
  std::vector<std::int64_t> out;
  for (const std::string& word : split(text, ',')) {
    const std::vector<std::int64_t> sizes =
        word == "0" ? std::vector<std::int64_t>{0} : parse_range_list("--depth", word);
    out.insert(out.end(), sizes.begin(), sizes.end());
  }
  return out;
}

/// Counts finished measurements. The current one counts by the share of its expected time.
class MeasurementProgress {
 public:
  /// `seconds` is the expected time of a measurement; 0 if unknown.
  explicit MeasurementProgress(double seconds) : seconds_(seconds) {}

  void advance() {
    start_ = Clock::now();
    done_ = done_ + 1;
  }
  [[nodiscard]] double done() const {
    constexpr double kMost = 0.97;  // the rest is for the check of the outputs
    const double since = std::chrono::duration<double>(Clock::now() - start_.load()).count();
    return done_ + (seconds_ > 0 ? std::min(kMost, since / seconds_) : 0);
  }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_;
  std::atomic<double> done_ = 0;
  std::atomic<Clock::time_point> start_ = Clock::now();
};

struct BenchCommand {
  Common common;
  open::Execution execution;
  std::optional<std::string> model, baseline, fail_if_slower;
  std::vector<std::string> devices{"cpu"};
  std::vector<std::string> dtypes;
  std::vector<std::int64_t> batches, lengths;
  std::optional<std::int64_t> warmup, iterations;
  std::optional<double> min_time, mean_length;
  Verify verify = Verify::automatic;
  bool profile = false, samples = false, attention = false, operations = false, roofline = false;
  AttentionSweep sweep;
  bool train = false;
  TrainingSetup training;
  DecoderTests tests;
  RanksOptions ranks;
  std::optional<std::string> cluster;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json, Format::jsonl, Format::markdown, Format::csv});
    add_model(options, model);
    add_execution(options, execution);
    options.group(OptionGroup::execution);
    options.add("--device", devices, "DEVICE,…", "devices to measure: cpu,cuda (default cpu)").list();
    options
        .add("--dtype", dtypes, "DTYPE,…",
             "dtypes to measure: float32, bfloat16, float16; int8, int4 or int4:BLOCK quantize weights; separated by "
             "commas")
        .list();
    options.group(OptionGroup::input);
    const auto sizes = [&options](const std::string& name, std::vector<std::int64_t>& list,
                                  const std::string& description) {
      return options.parsed(
          name, [&list, name](const std::string& text) { list = parse_range_list(name, text); }, "SIZES", description);
    };
    sizes("--batch-size", batches, "batch sizes to measure: 1,8");
    sizes("--seq-len", lengths, "sequence lengths to measure: 50,512 or 128-4096*2");
    sizes("--pp", tests.prompts, "for a decoder: prompt lengths of the prefill: 512");
    sizes("--tg", tests.steps, "for a decoder: numbers of tokens to generate: 128");
    options.parsed(
        "--depth", [this](const std::string& text) { tests.depths = parse_depths(text); }, "SIZES",
        "with --pp and --tg: tokens already in the KV cache: 0,4096 (default 0)");
    add_threads(options, execution.threads);
    options.group(OptionGroup::main);
    options.add("--warmup", warmup, "N", "number of warmup passes (default until times are stable)").not_negative();
    options.add("--min-time", min_time, "S", "minimum measuring time in seconds (default 3)").not_negative();
    options.add("--iterations", iterations, "N", "exact number of timed passes").above_zero();
    options.flag("--profile", profile, "show the time of each layer and kernel, and its bottleneck");
    options.flag("--roofline", roofline, "measure the machine's roofline and show each layer's fraction of it");
    options.flag("--ops", operations, "measure each operation of the model separately");
    options.flag("--samples", samples, "include every timing in the JSON");
    options.choice<Verify>("--verify", verify,
                           {{"always", Verify::always}, {"auto", Verify::automatic}, {"never", Verify::never}}, "WHEN",
                           "check outputs against the reference backend; auto only if that is fast (default auto)");
    options.group(OptionGroup::result);
    options.add("--baseline", baseline, "FILE", "baseline to compare with: the result of an earlier attn bench --json");
    options.add("--fail-if-slower", fail_if_slower, "PERCENT",
                "exit 1 if a median is slower than the baseline's by more than this: 5%");
    options.group(OptionGroup::input);
    options
        .add("--mean-length", mean_length, "SHARE",
             "pad sequences of random length, with this mean fraction of the full length: 0.6")
        .between(0.0, 1.0);
    options.group(OptionGroup::main);
    add_attention_sweep(options, attention, sweep);
    const Option steps =
        options.flag("--train", train, "measure training steps and their losses instead of forward passes");
    options
        .add("--optimizer", training.optimizer, "OPTIMIZER",
             "with --train: optimizer name, or JSON as Keras writes it (default the model's, else adam)")
        .needs(steps);
    options
        .add("--loss", training.loss, "LOSS",
             "with --train: loss name, or JSON as Keras writes it (default the model's, else mse)")
        .needs(steps);
    options
        .add("--data", training.data, "FILE",
             "with --train: inputs by name, targets y or y:<output>: .npz, .npy, .safetensors (default random)")
        .repeatable()
        .needs(steps);
    add_recompute(options, training.recomputes).needs(steps);
    ranks.declare(options);
    options.group(OptionGroup::ranks);
    options.add("--cluster", cluster, "NAME",
                "with --parallel: cluster to predict for, as in attn plan (default measured on these ranks)");
  }

  [[nodiscard]] int run() const {
    check_usage();
    if (const std::optional<ParallelWord> word = ranks.asked()) return measure_ranks(*word);
    expect_one_process("use --parallel tensor or data to measure them together");
    const Interrupt interrupt;
    report::BenchReport report;
    report.machine = run::machine_name();
    report.environment = bench_environment(devices.front());
    if (baseline) read_baseline();
    // All devices are opened first, so that a missing one is reported before hours of measurements.
    if (train) return measure_steps(report.machine);
    std::vector<std::unique_ptr<backends::Backend>> backends;
    for (const std::string& device : devices)
      backends.push_back(open::open_backend(device, execution.backend, common.console));
    if (streams()) write_result(report::bench_json_head(report), std::nullopt);
    const run::BenchOptions options = bench_options();
    // With --ops, each operation takes this time, and a model has several dozen operations.
    MeasurementProgress pace(iterations || operations ? 0 : options.warmup_seconds + options.min_seconds);
    const Progress progress(common.console, "measuring", static_cast<double>(measurements()),
                            [&pace] { return pace.done(); });
    const BenchPlan plan = plan_of(report, pace);
    try {
      for (const auto& backend : backends) {
        if (roofline) measure_roofline(plan, *backend);
        attention ? measure_attention(plan, kernels(), *backend) : measure_models(plan, *backend);
      }
    } catch (const Stopped&) {  // the report contains the finished measurements
    }
    report.partial = Interrupt::signal() != 0;
    warn_of_noise(report);
    if (streams()) {
      write_result(report::bench_json_tail(report), std::nullopt);
    } else {
      common.write(report::render(common.form(), report));
    }
    if (report.partial) return Interrupt::exit_code();
    return judged(report);
  }

 private:
  mutable std::vector<report::BenchRow> earlier_;
  mutable std::size_t unmatched_ = 0;  // number of measurements that the baseline lacks

  /// Returns whether results are printed during the run: JSON Lines on stdout are; a file is written at the end.
  [[nodiscard]] bool streams() const { return common.form() == Format::jsonl && !common.output; }

  void check_usage() const {
    if (attention && model) throw bad_usage("bench --attention measures kernels: leave out MODEL");
    if (attention && (mean_length || execution.skip_padding))
      throw bad_usage("bench --attention has no padding: it cannot be combined with --mean-length or --skip-padding");
    if (tests.empty() && tests.depths != std::vector<std::int64_t>{0}) throw bad_usage("--depth requires --pp or --tg");
    if (!tests.empty() && (attention || operations || mean_length || execution.skip_padding || !lengths.empty()))
      throw bad_usage(
          "--pp and --tg cannot be combined with --attention, --ops, --seq-len, --mean-length or --skip-padding");
    const AttentionSweep plain;
    if (!sweep.sizes.empty() && (!batches.empty() || !lengths.empty() || sweep.head_dims != plain.head_dims ||
                                 sweep.heads != plain.heads || sweep.key_heads || sweep.causal))
      throw bad_usage(
          "--size cannot be combined with --batch-size, --heads, --key-heads, --seq-len, --head-dim or --causal");
    if (attention && operations) throw bad_usage("--attention and --ops exclude each other");
    if (operations && profile)
      throw bad_usage(
          "--ops and --profile exclude each other: --ops measures operations separately, --profile within a pass");
    if (train && (attention || operations || roofline || baseline || mean_length || execution.skip_padding))
      throw bad_usage(
          "bench --train cannot be combined with --attention, --ops, --roofline, --baseline, --mean-length or "
          "--skip-padding");
    if (train && devices != std::vector<std::string>{"cpu"})
      throw bad_usage("bench --train supports only --device cpu");
    if (operations && baseline) throw bad_usage("--ops and --baseline exclude each other");
    if (common.form() == Format::csv && (profile || roofline))
      throw bad_usage("--format csv does not support {}; give --format json, markdown or table",
                      profile ? "--profile" : "--roofline");
    if (fail_if_slower && !baseline) throw bad_usage("--fail-if-slower requires --baseline FILE");
    if (fail_if_slower) (void)parse_percent(*fail_if_slower);
  }

  /// Adds a row for each dtype, batch and length, one after the other in this process.
  [[nodiscard]] int measure_steps(const std::string& machine) const {
    for (const std::string& dtype : dtypes)
      if (open::is_quantization(dtype))
        throw bad_usage("--train cannot be combined with --dtype {}: quantized weights have no gradients", dtype);
    const auto backend = open::open_backend("cpu", execution.backend, common.console);
    const open::LoadedModel loaded = open::load_model(model, execution, common.console);
    report::TrainingBenchReport report;
    report.machine = machine;
    BenchPlan plan;
    plan.execution = execution;
    plan.options = bench_options();
    plan.profile = profile;
    plan.console = &common.console;
    try {
      for_each_setting(plan, [&](const BenchPlan& one) { measure_training(one, training, loaded, *backend, report); });
    } catch (const Stopped&) {  // the report contains the finished measurements
    }
    common.write(report::render(common.form(), report));
    return Interrupt::signal() != 0 ? Interrupt::exit_code() : 0;
  }

  /// Measures passes of ranks that share the model; rank 0 prints.
  [[nodiscard]] int measure_ranks(const ParallelWord& word) const {
    if (train || attention || operations || roofline || profile || samples || baseline || mean_length ||
        execution.skip_padding || !tests.empty())
      throw bad_usage(
          "bench --parallel cannot be combined with --train, --attention, --ops, --profile, --roofline, --samples, "
          "--baseline, --pp, --tg, --mean-length or --skip-padding");
    if (common.form() == Format::jsonl) throw bad_usage("bench --parallel does not support --format jsonl; use --json");
    if (devices.size() > 1) throw bad_usage("bench --parallel supports only one --device");
    Ranks world(ranks, word, common.console);
    const bool measures = !cluster && world.world().size() > 1;
    report::ParallelBenchReport report;
    report.machine = run::machine_name();
    std::unique_ptr<backends::Backend> backend;
    std::optional<open::LoadedModel> loaded;
    const auto prepare = [&]() -> std::vector<Fingerprint> {
      backend = open::open_backend(world.device_of(devices.front()), execution.backend, common.console);
      loaded.emplace(open::load_model(model, execution, common.console));
      if (!measures) report.cluster = cluster_named(cluster.value_or("cpu-100g"));
      return {fingerprint_of("attn", ATTN_VERSION)};
    };
    int code = world.run_on_ranks(prepare, [&] {
      if (measures) report.cluster = measure_links(world).cluster;
      return 0;
    });
    BenchPlan plan;
    plan.execution = execution;
    plan.options = bench_options();
    plan.console = &common.console;
    for_each_setting(plan, [&](const BenchPlan& one) {
      if (code != 0) return;
      const auto of_setting = [&]() -> const open::LoadedModel& {
        if (open::is_quantization(one.execution.dtype))
          loaded.emplace(open::load_model(model, one.execution, common.console));
        return *loaded;
      };
      code = measure_shared(one, of_setting, *backend, world, report);
    });
    if (code == 0 && world.speaks()) common.write(report::render(common.form(), report));
    return code;
  }

  [[nodiscard]] std::size_t measurements() const {
    const auto of = [](const auto& list) { return std::max<std::size_t>(1, list.size()); };
    if (attention) return of(devices) * of(dtypes) * kernels().count();
    return of(devices) * of(dtypes) * of(batches) * of(lengths) * std::max<std::size_t>(1, tests.size());
  }

  [[nodiscard]] BenchPlan plan_of(report::BenchReport& report, MeasurementProgress& pace) const {
    BenchPlan plan;
    plan.execution = execution;
    plan.options = bench_options();
    plan.mean_length = mean_length;
    plan.verify = verify;
    plan.profile = profile || roofline;
    plan.console = &common.console;
    plan.emit = [this, &report, &pace](report::BenchRow row) {
      pace.advance();
      if (!samples) row.samples_ms.clear();
      if (baseline) compare_with_baseline(row);
      warn_of_wrong_outputs(row, common.console);
      if (streams()) write_result(report::bench_json_line(row), std::nullopt);
      report.rows.push_back(std::move(row));
    };
    plan.emit_operations = [this, &report, &pace](report::OperationsReport operations_of_one) {
      pace.advance();
      if (streams()) write_result(report::bench_json_line(operations_of_one), std::nullopt);
      report.operations.push_back(std::move(operations_of_one));
    };
    // Each device and dtype is measured once.
    auto known = std::make_shared<std::map<std::pair<std::string, DType>, run::Peaks>>();
    backends::CompileOptions compile = execution.compile_options();
    compile.tune = true;  // peaks are measured with tuned kernels too
    const bool told = roofline;
    plan.peaks = [known, compile, told, &report](const backends::Backend& backend, DType dtype) -> const run::Peaks& {
      const auto key = std::pair(std::string(backend.device()), dtype);
      const auto found = known->find(key);
      if (found != known->end()) return found->second;
      const auto same =
          std::find_if(known->begin(), known->end(), [&](const auto& other) { return other.first.first == key.first; });
      const run::Peaks* const memory = same == known->end() ? nullptr : &same->second;
      const run::Peaks& peaks = known->emplace(key, run::measure_peaks(backend, dtype, compile, memory)).first->second;
      if (told) report.peaks.push_back(peaks);
      return peaks;
    };
    return plan;
  }

  static void measure_roofline(const BenchPlan& plan, const backends::Backend& backend) {
    for (const DType dtype : {DType::float32, DType::bfloat16})
      if (!plan.stopped()) (void)plan.peaks(backend, dtype);
  }

  /// Returns the sizes of --attention.
  [[nodiscard]] AttentionSweep kernels() const {
    AttentionSweep whole = sweep;
    if (!batches.empty()) whole.batches = batches;
    if (!lengths.empty()) whole.lengths = lengths;
    if (!dtypes.empty()) whole.dtypes = dtypes;
    return whole;
  }

  void measure_models(const BenchPlan& plan, const backends::Backend& backend) const {
    const open::LoadedModel loaded = open::load_model(model, execution, common.console);
    for (const std::int64_t length : lengths) open::warn_of_fixed_lengths(loaded.model, length, common.console);
    std::map<std::string, open::LoadedModel> quantized;  // models that are quantized while loading
    for_each_setting(plan, [&](const BenchPlan& one) {
      const open::LoadedModel* which = &loaded;
      if (const auto& dtype = one.execution.dtype; open::is_quantization(dtype)) {
        if (!quantized.contains(*dtype))
          quantized.emplace(*dtype, open::load_model(model, one.execution, common.console));
        which = &quantized.at(*dtype);
      }
      if (!tests.empty()) return measure_decoder(one, tests, *which, backend);
      operations ? measure_operations(one, *which, backend) : measure_model(one, *which, backend);
    });
  }

  /// Calls f(plan) for each dtype, batch and length; an option without a value is one measurement with the model's own
  /// value.
  void for_each_setting(const BenchPlan& plan, const std::function<void(const BenchPlan&)>& f) const {
    const auto each = [](const auto& list) {
      using Value = typename std::decay_t<decltype(list)>::value_type;
      std::vector<std::optional<Value>> out(list.begin(), list.end());
      if (out.empty()) out.emplace_back();
      return out;
    };
    for (const auto& dtype : each(dtypes))
      for (const auto& batch : each(batches))
        for (const auto& length : each(lengths)) {
          if (plan.stopped()) return;
          BenchPlan one = plan;
          one.execution.dtype = dtype;
          one.execution.batch = batch;
          one.execution.sequence_length = length;
          f(one);
        }
  }

  void warn_of_noise(const report::BenchReport& report) const {
    if (report.rows.size() == 1) {
      for (const std::string& warning : report::noise_warnings(report.rows.front())) common.console.warn(warning);
    } else if (const std::string summary = report::noise_summary(report.rows); !summary.empty()) {
      common.console.warn(summary);
    }
  }

  [[nodiscard]] run::BenchOptions bench_options() const {
    run::BenchOptions out;
    if (!tests.empty()) out.warmup_runs = 1, out.max_warmup_seconds = 1.0, out.min_runs = 5;
    // Shortens the times, because a model has several dozen operations.
    if (operations) out.warmup_seconds = 0.05, out.max_warmup_seconds = 0.3, out.min_seconds = 0.2;
    if (warmup) {
      out.warmup_runs = *warmup;
      out.warmup_seconds = out.max_warmup_seconds = 0.0;
    }
    if (min_time) out.min_seconds = *min_time;
    if (iterations) {
      out.min_runs = out.max_runs = *iterations;
    }
    out.stop = [] { return Interrupt::signal() != 0; };
    return out;
  }

  void read_baseline() const {
    const io::Bytes file = io::read_file(*baseline);
    earlier_ = report::parse_bench_json(*baseline, file.text());
  }

  /// Compares the row with the baseline's row of the same setting, if there is one.
  void compare_with_baseline(report::BenchRow& row) const {
    const auto match = std::find_if(earlier_.begin(), earlier_.end(), [&](const report::BenchRow& old) {
      // The origin of the weights does not change the time.
      report::Setting setting = row.setting;
      setting.weights = old.setting.weights;
      return old.setting == setting;
    });
    if (match == earlier_.end()) {
      ++unmatched_;
      if (!fail_if_slower)
        common.console.warn(fmt::format("{} has no measurement of this setting", printable(*baseline)));
      return;
    }
    // A row is slower beyond the spread if its 10th percentile is above the 90th percentile of the baseline.
    row.baseline = report::Baseline{match->ms.median, row.ms.p10 > match->ms.p90};
    if (fail_if_slower) row.baseline->failed = row.ms.median > match->ms.median * (1 + parse_percent(*fail_if_slower));
  }

  /// Returns 1 if an output is wrong, or if a row is slower than --fail-if-slower allows.
  [[nodiscard]] int judged(const report::BenchReport& report) const {
    const auto wrong = std::count_if(report.rows.begin(), report.rows.end(), [](const report::BenchRow& row) {
      return row.verification && !row.verification->pass;
    });
    const auto slow = std::count_if(report.rows.begin(), report.rows.end(),
                                    [](const report::BenchRow& row) { return row.baseline && row.baseline->failed; });
    if (slow > 0)
      common.console.error(fmt::format("{} of {} measurements are slower than {} by over {}", slow, report.rows.size(),
                                       printable(*baseline), printable(*fail_if_slower)));
    // Rows without a baseline fail the check.
    const std::size_t unchecked = fail_if_slower ? unmatched_ : 0;
    if (unchecked > 0)
      common.console.error(fmt::format("--fail-if-slower: {} has no measurement for {} of the {} settings",
                                       printable(*baseline), unchecked, report.rows.size()));
    return static_cast<int>(wrong + slow > 0 || unchecked > 0 ? ExitCode::differs : ExitCode::done);
  }
};

}  // namespace

Command bench_command() { return command_of<BenchCommand>("bench", "measure latency and throughput"); }

}  // namespace attn::cli
