#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "arguments/execution.h"
#include "arguments/label_words.h"
#include "arguments/run_files.h"
#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/base/stopwatch.h"
#include "attn/base/text.h"
#include "attn/io/array_file.h"
#include "attn/io/sha256.h"
#include "attn/io/tensor_file.h"
#include "attn/library/setting.h"
#include "attn/open/execution.h"
#include "attn/open/input_files.h"
#include "attn/open/inputs.h"
#include "attn/open/label_texts.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/open/texts.h"
#include "attn/report/finite_view.h"
#include "attn/report/run_view.h"
#include "attn/run/bench.h"
#include "attn/run/compare.h"
#include "attn/run/finite.h"
#include "attn/run/inputs.h"
#include "attn/run/output_names.h"
#include "attn/run/score_range.h"
#include "attn/weights/stats.h"
#include "options/command.h"
#include "output/common.h"
#include "output/dump.h"
#include "output/progress.h"
#include "ranks/parallel_model.h"
#include "ranks/ranks.h"

namespace attn::cli {
namespace {

constexpr std::size_t kFirstValues = 5;

struct RunCommand {
  Common common;
  open::Execution execution;
  std::optional<std::string> model, scores, expect, dump;
  open::InputFiles inputs;
  LabelWords label_texts;
  std::optional<std::string> target;  // -o
  run::Tolerance tolerance;
  bool check_finite = false;
  FilesOptions files;
  RanksOptions ranks;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json}, false);
    add_model(options, model);
    add_forward(options, execution, inputs);
    label_texts.declare(options);
    options.group(OptionGroup::result);
    options.output("-o,--output", target, "FILE",
                   "write outputs to .npz, .npy or .safetensors; with --json, the report to .json");
    options.output("--scores", scores, "FILE", "write the attention weights of every layer to this file");
    options.output("--dump", dump, "FOLDER", "write the output of every layer to this folder, created if missing");
    options.add("--expect", expect, "FILE", "compare the outputs with these arrays; exit 1 if they differ");
    add_tolerance(options, tolerance.rtol, tolerance.atol, " of --expect");
    options.flag("--check-finite", check_finite, "report the first layer whose output contains NaN or Inf, and exit 1");
    files.declare(options);
    ranks.declare(options);
  }

  [[nodiscard]] int run() const {
    files.check();
    const std::optional<ParallelWord> shared = ranks.asked();
    if (files.output_dir) return run_many(shared.has_value());
    if (shared) return run_shared(*shared);
    expect_one_process("use --parallel tensor or data to share the work, or --output-dir to distribute files");
    check_targets();
    if ((check_finite || dump) && execution.skip_padding)
      throw bad_usage("{} cannot be combined with --skip-padding, which has no outputs of single layers",
                      check_finite ? "--check-finite" : "--dump");
    const auto backend = open::open_backend(execution.device, execution.backend, common.console);

    Stopwatch watch;
    report::RunReport report;
    const open::LoadedModel loaded = open::load_model(model, execution, common.console);
    const open::InputFiles files_given = label_texts.added_to(inputs);
    const open::GivenInputs given = open::read_input_files(loaded, files_given, execution, common.console);
    open::warn_of_given_batch(execution, given, common.console);
    keras::LowerOptions lower = open::lower_options(execution, given);
    lower.scores = scores.has_value();
    graph::Graph graph = loaded.model.lower(lower);
    if (scores && graph.scores.empty())
      throw bad_input("{}: --scores requires an attention layer, and the model has none", loaded.file);
    const run::OutputNames names = run::output_names(graph);
    const bool looks_inside = check_finite || dump;
    const run::Keep keep = looks_inside ? run::Keep::layer_outputs : run::Keep::outputs;
    report.predicted_bytes = open::require_memory(loaded, lower, graph, *backend, execution, keep);
    std::vector<Tensor> tensors = run::make_inputs(graph, given.arrays, execution.seed);
    std::vector<Tensor> weights = open::load_weights(loaded, execution, common.console);
    report.load_seconds = watch.lap();

    report.inputs = library::describe_inputs(graph, given);
    report.setting = library::setting_of(loaded, graph, *backend, execution);
    report.seed = execution.seed;

    if (execution.skip_padding) open::skip_padding(graph, tensors, common.console);
    const graph::Graph lowered = looks_inside ? graph : graph::Graph();
    const std::vector<Tensor> bound = check_finite ? weights : std::vector<Tensor>();
    run::Session session = open::prepare_session(*backend, std::move(graph), std::move(weights),
                                                 execution.compile_options(), common.console, keep);
    report.prepare_seconds = watch.lap();
    open::note_choices(session, common.console);
    watch.lap();
    open::run_session(session, tensors, common.console);
    report.run_seconds = watch.lap();

    const open::Outputs outputs = told(session.outputs(), loaded.model.text_outputs(), names, report);
    if (!files_given.texts.empty()) report.labels = labeled(loaded, files_given, session.outputs());
    warn_of_non_finite(report.outputs);
    write_results(outputs, session.scores());
    if (dump) write_dump(*dump, lowered, tensors, session, report);
    if (expect) report.compare = compared(outputs, names);
    report.peak_bytes = run::peak_memory();
    if (check_finite) {
      report.finite = run::check_finite(lowered, tensors, bound, session.layer_outputs());
      warn_of_large_scores(*backend, lowered, bound, tensors);
    }

    show(report);
    const bool finite = !report.finite || report.finite->finite();
    if (!finite) common.console.error(report::finite_problem(*report.finite));
    const bool differs = report.compare && !report.compare->pass;
    return static_cast<int>(differs || !finite ? ExitCode::differs : ExitCode::done);
  }

  [[nodiscard]] int run_many(bool is_shared) const {
    if (is_shared) throw bad_usage("--parallel {} cannot be combined with --output-dir", *ranks.parallel);
    const auto refuse = [](std::string_view option) {
      return bad_usage("{} cannot be combined with --output-dir", option);
    };
    if (target) throw refuse("-o");
    if (scores) throw refuse("--scores");
    if (dump) throw refuse("--dump");
    if (expect) throw refuse("--expect");
    if (check_finite) throw refuse("--check-finite");
    if (!inputs.images.empty()) throw refuse("--image");
    if (label_texts.are_given()) throw refuse("--texts");
    return run_files(files, model, inputs.inputs, execution, common);
  }

  /// Runs the model on all ranks; rank 0 writes the outputs.
  [[nodiscard]] int run_shared(const ParallelWord& word) const {
    const auto refuse = [](std::string_view option) {
      return bad_usage("{} cannot be combined with --parallel: no rank has whole layer outputs", option);
    };
    if (dump) throw refuse("--dump");
    if (check_finite) throw refuse("--check-finite");
    if (execution.skip_padding) throw refuse("--skip-padding");
    if (label_texts.are_given()) throw bad_usage("--texts cannot be combined with --parallel");
    check_targets();
    Ranks world(ranks, word, common.console);
    std::optional<ParallelModel> model_of_rank;
    std::vector<keras::TextOutput> texts;
    std::unique_ptr<backends::Backend> backend;
    Stopwatch watch;
    report::RunReport report;
    const auto prepare = [&] {
      backend = open::open_backend(world.device_of(execution.device), execution.backend, common.console);
      const open::LoadedModel loaded = open::load_model(model, execution, common.console);
      const open::GivenInputs given = open::read_input_files(loaded, inputs, execution, common.console);
      texts = loaded.model.text_outputs();
      model_of_rank = prepare_parallel(loaded, given, *backend, execution, scores.has_value(), world, common.console);
      report.inputs = library::describe_inputs(model_of_rank->whole, given);
      report.setting = library::setting_of(loaded, model_of_rank->whole, *backend, execution);
      report.seed = execution.seed;
      report.predicted_bytes = model_of_rank->memory_bytes;
      report.load_seconds = watch.lap();
      return model_of_rank->fingerprints;
    };
    return world.run_on_ranks(prepare, [&] {
      backends::CompileOptions options = execution.compile_options();
      options.ranks = &world.group();
      watch.lap();
      run::Session session(*backend, model_of_rank->local.graph, std::move(model_of_rank->weights), options);
      report.prepare_seconds = watch.lap();
      if (world.speaks()) open::note_choices(session, common.console);
      world.world().barrier();
      world.reset_counts();
      watch.lap();
      session.run(model_of_rank->inputs);
      const std::vector<NamedTensor> outputs = gather_groups(world, session.outputs(), model_of_rank->rows.outputs);
      const std::vector<NamedTensor> maps = gather_groups(world, session.scores(), model_of_rank->rows.scores);
      report.run_seconds = watch.lap();
      const communicators::Counts counts = world.counts();
      report.peak_bytes = run::peak_memory();
      report.parallel =
          parallel_report(world, model_of_rank->local.shared, counts, report.run_seconds, report.setting.threads);
      if (!world.speaks()) return static_cast<int>(ExitCode::done);
      return write_outputs(outputs, texts, maps, run::output_names(model_of_rank->whole), report);
    });
  }

  /// Writes the outputs and the report, and returns the exit code.
  [[nodiscard]] int write_outputs(const std::vector<NamedTensor>& given, const std::vector<keras::TextOutput>& texts,
                                  const std::vector<NamedTensor>& maps, const run::OutputNames& names,
                                  report::RunReport& report) const {
    const open::Outputs outputs = told(given, texts, names, report);
    write_results(outputs, maps);
    if (expect) report.compare = compared(outputs, names);
    show(report);
    return static_cast<int>(report.compare && !report.compare->pass ? ExitCode::differs : ExitCode::done);
  }

  [[nodiscard]] std::optional<std::string> arrays() const {
    return common.is_for_report(target) ? std::nullopt : target;
  }

  void check_targets() const {
    for (const auto& path : {arrays(), scores}) {
      refuse_binary_on_terminal(path);
      if (path) io::check_tensor_path(*path);
    }
    if (arrays() == "-" && scores == "-") throw bad_usage("-o - and --scores - cannot both write to stdout");
  }

  void write_results(const open::Outputs& outputs, const std::vector<NamedTensor>& maps) const {
    if (const auto path = arrays()) write_arrays(*path, outputs.numbers, outputs.texts);
    if (scores) write_arrays(*scores, maps);
  }

  void show(const report::RunReport& report) const {
    common.write_report(report::render(common.form(), report), target, arrays() == "-" || scores == "-");
    common.tell_arrays({arrays(), scores});
  }

  /// Returns the outputs, in the order of the report.
  [[nodiscard]] open::Outputs told(const std::vector<NamedTensor>& given, const std::vector<keras::TextOutput>& texts,
                                   const run::OutputNames& names, report::RunReport& report) const {
    open::Outputs outputs = open::decode_texts(texts, given);
    run::rename_outputs(outputs.numbers, names);
    run::rename_outputs(outputs.texts, names);
    std::vector<NamedTensor> named = given;
    run::rename_outputs(named, names);
    for (const NamedTensor& output : named) {
      const auto strings = std::ranges::find(outputs.texts, output.name, &NamedTexts::name);
      report.outputs.push_back(strings == outputs.texts.end() ? describe(output) : describe(*strings));
    }
    return outputs;
  }

  /// Returns the probability of each text for each image.
  static report::LabelsReport labeled(const open::LoadedModel& loaded, const open::InputFiles& given,
                                      const std::vector<NamedTensor>& outputs) {
    const auto how = loaded.model.image_texts();
    const auto found = std::ranges::find(outputs, how->similarities, &NamedTensor::name);
    report::LabelsReport out{how->is_independent, given.texts, given.images,
                             open::label_probabilities(loaded, found->tensor)};
    for (std::size_t i = out.images.size(); i < out.probabilities.size(); ++i)
      out.images.push_back(fmt::format("images[{}]", i));
    return out;
  }

  [[nodiscard]] report::OutputReport describe(const NamedTexts& output) const {
    report::OutputReport out;
    out.name = output.name;
    out.dtype = "string";
    out.shape = output.texts.shape;
    out.strings = output.texts.values;
    std::string bytes;
    for (const std::string& text : out.strings) bytes += text + '\0';
    if (common.form() == Format::json) out.sha256 = io::sha256(std::as_bytes(std::span(bytes)));
    return out;
  }

  [[nodiscard]] report::OutputReport describe(const NamedTensor& output) const {
    const weights::TensorStats stats = weights::stats_of(output.tensor);
    report::OutputReport out;
    out.name = output.name;
    out.dtype = name_of(output.tensor.dtype());
    out.shape = output.tensor.shape();
    out.mean = stats.mean;
    out.std = stats.stddev;
    out.min = stats.min;
    out.max = stats.max;
    out.non_finite = stats.nan_count + stats.inf_count;
    for (std::int64_t i = 0; i < output.tensor.size() && out.first_values.size() < kFirstValues; ++i)
      out.first_values.push_back(output.tensor.at(i));
    if (common.form() == Format::json)
      out.sha256 = io::sha256({output.tensor.data(), static_cast<std::size_t>(output.tensor.bytes())});
    return out;
  }

  /// Warns about scores that overflow in Keras's float16, but not in attn's float32 sums.
  void warn_of_large_scores(const backends::Backend& backend, const graph::Graph& graph,
                            const std::vector<Tensor>& weights, std::span<const Tensor> tensors) const {
    for (const run::LargeScore& score :
         run::large_scores(backend, graph, weights, tensors, execution.compile_options()))
      common.console.warn(
          fmt::format("the attention scores of '{}' reach {:.6g}, beyond float16's range of ±65504: Keras rounds them "
                      "to float16 and "
                      "gets NaN here; use --dtype bfloat16 or float32",
                      printable(score.layer), score.value));
  }

  void warn_of_non_finite(const std::vector<report::OutputReport>& outputs) const {
    if (check_finite) return;  // the report of --check-finite has more detail
    for (const report::OutputReport& output : outputs)
      if (output.non_finite > 0)
        common.console.warn(fmt::format("{}: {} of its values are NaN or infinite; --check-finite names the layer",
                                        printable(output.name), with_commas(output.non_finite)));
  }

  void write_arrays(const std::string& path, const std::vector<NamedTensor>& tensors,
                    const std::vector<NamedTexts>& texts = {}) const {
    const Progress progress = writing(common.console, path, tensors);
    io::write_tensors(path, tensors, texts);
  }

  [[nodiscard]] report::CompareReport compared(const open::Outputs& outputs, const run::OutputNames& names) const {
    report::CompareReport out;
    out.file = *expect;
    out.rtol = tolerance.rtol;
    out.atol = tolerance.atol;
    io::Arrays expected = io::read_arrays(*expect);
    run::rename_outputs(expected.tensors, names);
    run::rename_outputs(expected.texts, names);
    out.outputs = run::compare(expected.tensors, outputs.numbers, tolerance);
    for (run::OutputComparison& texts : run::compare_texts(expected.texts, outputs.texts))
      out.outputs.push_back(std::move(texts));
    out.pass = std::all_of(out.outputs.begin(), out.outputs.end(), [](const auto& output) { return output.pass; });
    return out;
  }
};

}  // namespace

Command run_command() { return command_of<RunCommand>("run", "run a forward pass on random or file inputs"); }

}  // namespace attn::cli
