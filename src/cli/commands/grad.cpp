#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/tensor_file.h"
#include "attn/library/setting.h"
#include "attn/open/execution.h"
#include "attn/open/inputs.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/report/gradients_view.h"
#include "attn/run/compare.h"
#include "attn/run/compare_runs.h"
#include "attn/run/gradients.h"
#include "attn/run/inputs.h"
#include "attn/train/loss_gradients.h"
#include "attn/train/read_data.h"
#include "attn/train/trial_step.h"
#include "options/command.h"
#include "output/common.h"
#include "output/progress.h"

namespace attn::cli {
namespace {

using graph::ValueId;
using Wanted = train::WantedGradient;

enum class Grouping : std::uint8_t { layer, weight, block };
enum class Order : std::uint8_t { depth, norm };

double rounding_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return std::numeric_limits<double>::epsilon();
    case DType::bfloat16:
      return 0x1p-7;
    case DType::float16:
      return 0x1p-10;
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

struct GradCommand {
  Common common;
  open::Execution execution;
  std::optional<std::string> model, loss, output, arrays, expect, svg;
  std::vector<std::string> data, patterns;
  bool training = false, no_training = false, with_inputs = false, check = false;
  std::optional<std::int64_t> directions;
  std::optional<double> step;
  std::optional<double> rtol, atol;
  Grouping by = Grouping::layer;
  Order order = Order::depth;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json}, false);
    add_model(options, model);
    options.group(OptionGroup::input);
    options
        .add("--data", data, "FILE",
             "inputs by name, targets y or y:<output>, sample_weight: .npz, .npy, .safetensors (default random)")
        .repeatable();
    options.group(OptionGroup::main);
    options.add("--loss", loss, "LOSS", "loss name, or JSON as Keras writes it (default the compiled loss, else mse)");
    options.add("--loss-output", output, "NAME", "use only the loss of this model output");
    options.flag("--training", training, "apply dropout and noise, as in training");
    options.flag("--no-training", no_training, "run layers in inference mode, without batch statistics");
    options.flag("--input-gradients", with_inputs, "compute the gradients of inputs too");
    options.add("--match", patterns, "PATTERN", "show only weights with matching paths (wildcards * and ?); repeatable")
        .repeatable();
    options.group(OptionGroup::result);
    options.output("-o,--output", arrays, "FILE", "write the loss and gradients to .npz, .npy or .safetensors");
    options.add("--expect", expect, "FILE", "compare the loss and gradients with these arrays; exit 1 if they differ");
    add_tolerance(options, rtol, atol, " of --expect");
    options.group(OptionGroup::main);
    options.flag("--check", check, "check float64 gradients against central differences; exit 1 if they differ");
    options.add("--directions", directions, "N", "with --check: random directions per array (default 3)").above_zero();
    options.add("--eps", step, "A", "with --check: step size (default 1e-6, larger if rounding dominates)")
        .above_zero();
    options.choice<Grouping>("--by", by,
                             {{"layer", Grouping::layer}, {"weight", Grouping::weight}, {"block", Grouping::block}},
                             "WHAT", "group gradients by layer, weight or block (default layer)");
    options.choice<Order>("--sort", order, {{"depth", Order::depth}, {"norm", Order::norm}}, "HOW",
                          "row order: depth follows the model, norm is largest first (default depth)");
    options.group(OptionGroup::result);
    options.output("--svg", svg, "FILE", "draw a bar for each row, on a logarithmic scale");
    add_input_shape(options, execution.input_shape);
    add_weights(options, execution.weights);
    add_device(options, execution.device);
    add_backend(options, execution.backend);
    add_dtype(options, execution.dtype);
    add_matmul_precision(options, execution.precision);
    add_batch(options, execution.batch);
    add_sequence_length(options, execution.sequence_length);
    add_threads(options, execution.threads);
    add_seed(options, execution.seed);
    add_keras_version(options, execution.keras_version);
    add_memory_limit(options, execution.memory_limit);
  }

  [[nodiscard]] int run() const {
    if (arrays) io::check_tensor_path(*arrays);
    refuse_binary_on_terminal(arrays);
    if (svg) refuse_page_on_terminal(Format::svg, svg, model);
    if (training && no_training) throw bad_usage("--training and --no-training exclude each other");
    if (!check && (directions || step)) throw bad_usage("--directions and --eps require --check");
    if (!expect && (rtol || atol)) throw bad_usage("--rtol and --atol require --expect");
    const auto backend = open::open_backend(execution.device, execution.backend, common.console);
    const open::LoadedModel loaded = open::load_model(model, execution, common.console);
    open::GivenInputs given = train::read_data(loaded.model, data);
    if (execution.batch) train::keep_rows(given, *execution.batch);

    const keras::LossGraph lowered = train::lower_loss(loaded, given, execution, request(), execution.dtype);
    train::complete_arrays(lowered, execution.seed, given);
    const std::vector<Wanted> wanted = train::wanted_gradients(lowered.graph, loaded.model, request());

    report::GradientsReport report;
    report.setting = library::setting_of(loaded, lowered.graph, *backend, execution);
    report.loss = lowered.described;
    report.mode = no_training ? "inference" : training ? "training" : "training, nothing dropped";
    report.seed = execution.seed;
    report.inputs = library::describe_inputs(lowered.graph, given);
    const DType computed = run::coarsest_dtype(lowered.graph, execution.precision);

    graph::Graph backward = train::with_gradients(lowered, wanted);
    const std::vector<Tensor> inputs = run::make_inputs(backward, given.arrays, execution.seed);
    run::require_memory("the gradients take",
                        static_cast<UInt128>(run::memory_needed(*backend, backward, execution.compile_options())),
                        open::memory_limit(execution.memory_limit));
    const std::vector<Tensor> weights = open::load_weights(loaded, execution, common.console);
    run::Session session =
        open::prepare_session(*backend, std::move(backward), weights, execution.compile_options(), common.console);
    open::note_choices(session, common.console);
    const auto start = std::chrono::steady_clock::now();
    open::run_session(session, inputs, common.console);
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    const std::vector<NamedTensor> outputs = session.outputs();
    const std::vector<NamedTensor> results = train::named_gradients(outputs, lowered, wanted);
    report.value = results.front().tensor.at(0);
    for (std::size_t i = 0; i < lowered.terms.size(); ++i)
      report.terms.emplace_back(lowered.terms[i].name, outputs[1 + i].tensor.at(0));
    const std::map<std::string, double> moved =
        no_training ? std::map<std::string, double>()
                    : train::update_norms(loaded, lowered, inputs, weights, *backend, execution, common.console);
    add_rows(report, lowered, wanted, outputs, weights, inputs, computed, moved);

    if (arrays) {
      const Progress progress = writing(common.console, *arrays, results);
      io::write_tensors(*arrays, results);
    }
    if (expect) report.compare = compared(results);
    if (check) report.check = checked(report, loaded, given, weights);
    if (svg) write_result(report::render(Format::svg, report), svg, Formatting::exact);
    write_report(report::render(common.form(), report), common.console, arrays == "-" || svg == "-");
    common.tell_arrays({arrays, svg});
    return static_cast<int>(verdict(report));
  }

 private:
  [[nodiscard]] train::GradientRequest request() const {
    return {loss, output, !no_training, training, with_inputs, patterns};
  }

  void add_rows(report::GradientsReport& report, const keras::LossGraph& lowered, const std::vector<Wanted>& wanted,
                const std::vector<NamedTensor>& outputs, const std::vector<Tensor>& weights,
                const std::vector<Tensor>& inputs, DType computed, const std::map<std::string, double>& moved) const {
    const auto gradients = train::gradients_in(outputs, lowered, wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const graph::Value& value = lowered.graph.value(wanted[i].value);
      const bool is_weight = value.kind == graph::ValueKind::weight;
      const auto place = std::ranges::find(lowered.graph.inputs, wanted[i].value) - lowered.graph.inputs.begin();
      const Tensor& numbers = is_weight ? weights[graph::at(value.weight)] : inputs[static_cast<std::size_t>(place)];
      report.rows.push_back(run::describe_gradient(wanted[i].name, gradients[i], numbers));
      if (const auto found = moved.find(wanted[i].name); found != moved.end())
        report.rows.back().update_norm = found->second;
      if (is_weight) report.norm = std::hypot(report.norm, report.rows.back().norm);
    }
    report.by = by == Grouping::weight ? "weight" : by == Grouping::block ? "block" : "layer";
    if (by != Grouping::weight) {
      report.rows = run::grouped(report.rows, [&](const std::string& name) {
        if (name.starts_with("input:")) return name;
        const auto slash = by == Grouping::block ? name.find('/') : name.rfind('/');
        return name.substr(0, slash);
      });
    }
    constexpr double kBitsOfSums = 16.0;  // sums of a few hundred terms lose the last four bits
    run::mark_gradients(report.rows, kBitsOfSums * rounding_of(computed));
    report.order.resize(report.rows.size());
    std::iota(report.order.begin(), report.order.end(), 0U);
    if (order == Order::norm)
      std::ranges::stable_sort(report.order,
                               [&](std::size_t a, std::size_t b) { return report.rows[a].norm > report.rows[b].norm; });
  }

  /// Renames results. Keras's paths may begin with the name of an outer model. A result gets the name of an array if
  /// exactly one path ends with the other.
  static std::vector<NamedTensor> under_names_of(const std::vector<NamedTensor>& results,
                                                 std::vector<NamedTensor> expected) {
    for (NamedTensor& array : expected) {
      const std::string& name = array.name;
      const auto is_end = [](const std::string& whole, const std::string& end) { return whole.ends_with("/" + end); };
      std::vector<const NamedTensor*> alike;
      for (const NamedTensor& result : results) {
        if (result.name == name) alike.assign(2, nullptr);  // the result already has the array's name
        if (is_end(result.name, name) || is_end(name, result.name)) alike.push_back(&result);
      }
      if (alike.size() == 1) array.name = alike.front()->name;
    }
    return expected;
  }

  [[nodiscard]] report::CompareReport compared(const std::vector<NamedTensor>& results) const {
    report::CompareReport out;
    const run::Tolerance usual;
    out.file = *expect;
    out.rtol = rtol.value_or(usual.rtol);
    out.atol = atol.value_or(usual.atol);
    out.outputs = run::compare(under_names_of(results, io::read_tensors(*expect)), results, {out.rtol, out.atol});
    out.pass = std::ranges::all_of(out.outputs, [](const auto& each) { return each.pass; });
    return out;
  }

  [[nodiscard]] std::vector<run::GradientCheckRow> checked(report::GradientsReport& report,
                                                           const open::LoadedModel& loaded,
                                                           const open::GivenInputs& given,
                                                           const std::vector<Tensor>& weights) const {
    open::GivenInputs from_files = given;
    std::erase_if(from_files.arrays, [&](const auto& array) { return !given.files.contains(array.first); });
    const keras::LossGraph lowered = train::lower_loss(loaded, from_files, execution, request(), "float64");
    const std::vector<Tensor> inputs = run::make_inputs(lowered.graph, given.arrays, execution.seed);
    const std::vector<Wanted> wanted = train::wanted_gradients(lowered.graph, loaded.model, request());
    std::vector<ValueId> values;
    for (const Wanted& each : wanted) values.push_back(each.value);
    run::GradientCheckOptions options;
    if (directions) options.directions = static_cast<int>(*directions);
    if (step) options.step = *step;
    options.only_step = step.has_value();
    options.seed = execution.seed;
    report.check_tolerance = options.tolerance;
    Progress progress(common.console, "checking", 2.0 * options.directions * static_cast<double>(values.size()));
    auto rows = run::check_gradients(lowered.graph, lowered.loss, values, inputs, weights, options,
                                     [&](double passes) { progress.advance(passes); });
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].name = wanted[i].name;
    return rows;
  }

  [[nodiscard]] ExitCode verdict(const report::GradientsReport& report) const {
    if (!report.finite()) {
      const auto row = std::ranges::find_if(report.rows, [](const auto& each) { return each.non_finite > 0; });
      common.console.error(row == report.rows.end()
                               ? fmt::format("the loss is {}", report.value)
                               : fmt::format("the gradient of '{}' contains NaN or Inf", printable(row->name)));
    }
    const bool differs = (report.compare && !report.compare->pass) || !report.checked();
    return differs || !report.finite() ? ExitCode::differs : ExitCode::done;
  }
};

}  // namespace

Command grad_command() {
  return command_of<GradCommand>("grad", "compute and check the gradients of a loss, layer by layer");
}

}  // namespace attn::cli
