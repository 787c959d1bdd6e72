#include <algorithm>
#include <filesystem>
#include <memory>

#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/library/setting.h"
#include "attn/open/execution.h"
#include "attn/open/inputs.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/open/weights_source.h"
#include "attn/report/compare_view.h"
#include "attn/report/models_view.h"
#include "attn/report/number.h"
#include "attn/run/compare_runs.h"
#include "attn/run/inputs.h"
#include "attn/run/output_names.h"
#include "commands/scripts/keras_script.h"
#include "options/command.h"
#include "output/common.h"
#include "output/dump.h"
#include "output/progress.h"

namespace attn::cli {
namespace {

struct CompareCommand {
  Common common;
  open::Execution execution;  // shared by both sides
  std::optional<std::string> model, other;
  // Two values "A,B", or one for both sides.
  std::optional<std::string> devices, backends, dtypes, precisions, thread_counts;
  std::vector<std::string> weights, inputs;
  std::optional<std::string> expect;
  std::optional<double> rtol, atol;
  bool outputs_only = false, print_script = false;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json, Format::markdown});
    add_model(options, model);
    options.add("other", other, "MODEL",
                "second model, to compare configs and weights; layer outputs if one is quantized");
    options.group(OptionGroup::execution);
    options.add("--device", devices, "DEVICES", "devices A,B: cpu, cuda, cuda:N or auto (default cpu)");
    options.add("--backend", backends, "NAMES", "backends A,B: reference, onednn or cuda (default the device's best)");
    options.add(
        "--dtype", dtypes, "DTYPES",
        "compute dtypes A,B: float32, bfloat16, float16 or float64; or int8, int4 or int4:BLOCK to quantize weights");
    options.add("--matmul-precision", precisions, "HOW",
                "precisions A,B of float32 matrix products: highest, high or medium (default highest)");
    options.add("--threads", thread_counts, "COUNTS", "numbers of threads A,B; 0 uses all cores (default 0)");
    options.group(OptionGroup::model);
    options
        .add("--weights", weights, "FILE",
             "weights file: .weights.h5, .keras, .safetensors or .npz; given twice for A and B")
        .repeatable();
    options.group(OptionGroup::result);
    options.add("--expect", expect, "FILE",
                "outputs and layer outputs to compare with, instead of A: .npz, .npy, .safetensors, or a folder of "
                "attn run --dump");
    options.flag("--print-keras-script", print_script, "print a Keras script that writes a file for --expect");
    add_inputs(options, inputs);
    add_tolerance(options, rtol, atol);
    options.flag("--outputs-only", outputs_only, "compare only the model's outputs");
    add_batch(options, execution.batch);
    add_sequence_length(options, execution.sequence_length);
    add_seed(options, execution.seed);
    add_input_shape(options, execution.input_shape);
    add_keras_version(options, execution.keras_version);
    add_compat(options, execution.as_keras_hub);
    add_memory_limit(options, execution.memory_limit);
  }

  [[nodiscard]] int run() {
    if (print_script) {
      common.write(std::string(keras_script()));
      return 0;
    }
    return other ? compare_models() : compare_runs();
  }

  [[nodiscard]] int compare_models() const {
    if (differing() || !weights.empty() || expect)
      throw bad_usage("two MODELs exclude A,B values, --weights and --expect");
    if (model == "-" && other == "-") throw bad_usage("only one of the two models can be -, as stdin is read once");
    const open::LoadedModel a = open::load_model(model, execution, common.console);
    const open::LoadedModel b = open::load_model(other, execution, common.console);
    // The loss of accuracy by quantization is visible only in the outputs of layers, so both models run.
    const bool runs = !inputs.empty() || rtol || atol || outputs_only;
    if (runs || (a.weights && b.weights && is_quantized(a) != is_quantized(b)))
      return compare_passes({&a, &b}, {execution, execution});
    report::ModelsReport report{*model, *other, keras::compare_models(a.model, b.model), {}, {}};
    if (a.weights && b.weights) report.weights = compared_weights(a, b);
    if (a.weights.has_value() != b.weights.has_value()) report.without = a.weights ? *other : *model;
    common.write(report::render(common.form(), report));
    return static_cast<int>(report.equal() ? ExitCode::done : ExitCode::differs);
  }

  /// Compares the weights of two files that contain models too.
  [[nodiscard]] report::DiffReport compared_weights(const open::LoadedModel& a, const open::LoadedModel& b) const {
    const open::WeightsSource of_a = open::read_weights(*a.weights, &a, common.console);
    const open::WeightsSource of_b = open::read_weights(*b.weights, &b, common.console);
    const Progress progress(common.console, "comparing weights");
    return {*model, *other, 0, 0,
            run::compare_weights(open::weights_by_place(of_a, &a), open::weights_by_place(of_b, &b), {0, 0})};
  }

  [[nodiscard]] static bool is_quantized(const open::LoadedModel& loaded) {
    const std::vector<graph::WeightSpec> specs = loaded.model.weights();
    return std::any_of(specs.begin(), specs.end(), [](const auto& spec) { return spec.quantized.has_value(); });
  }

  /// One of the two passes.
  struct Side {
    const open::LoadedModel* loaded;
    open::Execution execution;
    std::unique_ptr<backends::Backend> backend;
    graph::Graph graph;
    std::vector<Tensor> inputs, weights;
  };

  [[nodiscard]] int compare_runs() {
    const std::vector<open::Execution> settings = sides();
    // A side that quantizes while loading has a model of its own.
    std::vector<std::unique_ptr<open::LoadedModel>> models;
    std::vector<const open::LoadedModel*> of_sides;
    for (const open::Execution& setting : settings) {
      if (models.empty() || open::is_quantization(setting.dtype) || open::is_quantization(settings.front().dtype))
        models.push_back(std::make_unique<open::LoadedModel>(open::load_model(model, setting, common.console)));
      of_sides.push_back(models.back().get());
    }
    return compare_passes(of_sides, settings);
  }

  [[nodiscard]] int compare_passes(const std::vector<const open::LoadedModel*>& models,
                                   const std::vector<open::Execution>& settings) const {
    const open::LoadedModel& loaded = *models.front();
    open::GivenInputs given = open::read_inputs(loaded.model, inputs, execution, common.console);
    std::vector<NamedTensor> expected;
    if (expect) expected = read_expected(loaded.model, given);

    report::RunComparisonReport report;
    report.model = loaded.name;
    report.seed = execution.seed;
    std::vector<Side> passes;
    for (std::size_t i = 0; i < settings.size(); ++i)
      passes.push_back(
          prepare(*models[i], settings[i], i > 0 && other ? inputs_of(passes.front(), *models[i]) : given));
    report.inputs = library::describe_inputs(passes.back().graph, given);
    if (expect) check_sizes(passes.back().graph);
    const run::OutputNames names = run::output_names((other ? passes.front() : passes.back()).graph);
    number_outputs(expected, names);
    choose_tolerance(report, passes, expected);

    Side& last = passes.back();
    report.b = describe(last);
    if (weights.size() > 1 && models.front() == models.back()) report.weights = compare_weights(loaded, passes);
    std::vector<run::PassArray> got = record(last);
    std::vector<run::PassArray> other_pass;
    if (!expect) other_pass = record(passes.front());
    if (other) pair_arrays(other_pass, got);
    describe_quantization(report, passes);
    Progress progress(common.console, "comparing", static_cast<double>(got.size()));
    const auto advance = [&](double more) { progress.advance(more); };
    if (expect) {
      report.a.file = *expect;
      report.result =
          run::compare_with_file(expected, got, loaded.model.input_names(), report.tolerance, *expect, advance);
    } else {
      report.a = describe(passes.front());
      report.result = run::compare_passes(other_pass, got, report.tolerance, advance);
    }
    for (run::ArrayComparison& array : report.result.arrays)
      if (const auto name = names.find(array.name); array.is_output() && name != names.end()) array.name = name->second;
    common.write(report::render(common.form(), report));
    return static_cast<int>(report.result.equal() ? ExitCode::done : ExitCode::differs);
  }

  /// Returns the inputs of the first model under the names of the second's inputs.
  [[nodiscard]] open::GivenInputs inputs_of(const Side& first, const open::LoadedModel& second) const {
    const std::vector<std::string> names = second.model.array_names();
    if (names.size() != first.graph.inputs.size())
      throw bad_usage("{} has {} and {} has {}: both models need the same number of inputs", printable(*model),
                      report::counted(std::ssize(first.graph.inputs), "input"), printable(*other),
                      report::counted(std::ssize(names), "input"));
    open::GivenInputs out;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string& own = first.graph.value(first.graph.inputs[i]).name;
      const bool same = std::ranges::find(names, own) != names.end();
      out.arrays.emplace(same ? own : names[i], first.inputs[i]);
    }
    return out;
  }

  /// Keeps the arrays that both models have: outputs in their order, and layers of the same name.
  void pair_arrays(std::vector<run::PassArray>& a, std::vector<run::PassArray>& b) const {
    const auto outputs_of = [](std::vector<run::PassArray>& arrays) {
      std::vector<run::PassArray*> out;
      for (run::PassArray& array : arrays)
        if (array.is_output()) out.push_back(&array);
      return out;
    };
    const std::vector<run::PassArray*> of_a = outputs_of(a), of_b = outputs_of(b);
    if (of_a.size() != of_b.size())
      throw bad_usage("{} has {} and {} has {}", printable(*model), report::counted(std::ssize(of_a), "output"),
                      printable(*other), report::counted(std::ssize(of_b), "output"));
    for (std::size_t i = 0; i < of_a.size(); ++i) of_b[i]->name = of_a[i]->name;
    const auto lacks = [](const std::vector<run::PassArray>& arrays) {
      return [&arrays](const run::PassArray& array) {
        return std::ranges::none_of(arrays, [&](const run::PassArray& one) {
          return one.name == array.name && one.is_output() == array.is_output();
        });
      };
    };
    const std::vector<run::PassArray> all_a = a;
    const auto left_out = std::erase_if(a, lacks(b)) + std::erase_if(b, lacks(all_a));
    if (left_out > 0)
      common.console.warn(fmt::format("{} not compared, because only one model has the layer",
                                      report::counted(static_cast<std::int64_t>(left_out), "array")));
  }

  /// Returns the fewest bits of a model's quantized weights; 0 if there are none.
  [[nodiscard]] static int bits_of(const open::LoadedModel& loaded) {
    int bits = 0;
    for (const graph::WeightSpec& spec : loaded.model.weights())
      if (spec.quantized) bits = bits == 0 ? spec.quantized->bits : std::min(bits, spec.quantized->bits);
    return bits;
  }

  static void describe_quantization(report::RunComparisonReport& report, const std::vector<Side>& passes) {
    if (passes.size() != 2) return;
    const auto bytes_of = [](const Side& side) {
      std::int64_t bytes = 0;
      for (const Tensor& weight : side.weights) bytes += weight.bytes();
      return bytes;
    };
    const int a = bits_of(*passes.front().loaded), b = bits_of(*passes.back().loaded);
    if ((a == 0) == (b == 0)) return;
    report.quantized = {std::max(a, b), bytes_of(passes[a == 0 ? 0 : 1]), bytes_of(passes[a == 0 ? 1 : 0])};
  }

  /// Returns whether an option has two values.
  [[nodiscard]] bool differing() const {
    const auto two = [](const std::optional<std::string>& text) {
      return text && text->find(',') != std::string::npos;
    };
    return two(devices) || two(backends) || two(dtypes) || two(precisions) || two(thread_counts);
  }

  /// Parses "A,B", or one value for both; empty if the option is not given.
  static std::vector<std::string> values_of(const char* option, const std::optional<std::string>& text) {
    if (!text) return {};
    std::vector<std::string> values = split(*text, ',');
    if (values.size() > 2 || std::find(values.begin(), values.end(), "") != values.end())
      throw bad_usage("{} {}: expected A or A,B", option, printable(*text));
    return values;
  }

  /// Returns the settings of A and B; with --expect only those of B.
  [[nodiscard]] std::vector<open::Execution> sides() const {
    const std::vector<std::string> device = values_of("--device", devices), backend = values_of("--backend", backends),
                                   dtype = values_of("--dtype", dtypes),
                                   precision = values_of("--matmul-precision", precisions),
                                   threads = values_of("--threads", thread_counts);
    if (weights.size() > 2) throw bad_usage("give --weights once, or twice for A and B");
    const auto options = {device.size(),    backend.size(), dtype.size(),
                          precision.size(), threads.size(), weights.size()};
    const bool two = std::any_of(options.begin(), options.end(), [](std::size_t count) { return count == 2; });
    if (two && expect) throw bad_usage("--expect replaces A: give every other option one value");
    const bool against_reference = !two && !expect;
    if (against_reference && (!backend.empty() && backend[0] == "reference"))
      throw bad_usage("nothing to compare; give --backend reference,onednn or --expect FILE");

    std::vector<open::Execution> out;
    for (std::size_t i = 0; i < (expect ? 1U : 2U); ++i) {
      const auto of_side = [&](const std::vector<std::string>& values, const std::string& otherwise) {
        return values.empty() ? otherwise : values[std::min(i, values.size() - 1)];
      };
      open::Execution side = execution;
      side.backend = of_side(backend, "");
      side.device = of_side(device, side.backend == "cuda" ? "cuda" : "cpu");
      if (!dtype.empty()) side.dtype = of_side(dtype, "");
      side.precision = parse_precision(of_side(precision, "highest"));
      side.threads = parse_threads(of_side(threads, "0"));
      if (!weights.empty()) side.weights = of_side(weights, "");
      // If no option has two values, A is the reference backend.
      if (against_reference && i == 0) {
        side.backend = "reference";
        side.device = "cpu";
      }
      out.push_back(std::move(side));
    }
    return out;
  }

  static int parse_threads(const std::string& text) {
    const bool digits = !text.empty() && text.size() < 6 &&
                        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) throw bad_usage("--threads {}: expected a number", printable(text));
    return std::stoi(text);
  }

  /// Reads the arrays of --expect. Those named like inputs become the inputs of the run; the others are returned.
  [[nodiscard]] std::vector<NamedTensor> read_expected(const keras::Model& loaded, open::GivenInputs& given) const {
    const std::string path =
        std::filesystem::is_directory(*expect) ? (std::filesystem::path(*expect) / kDumpArrays).string() : *expect;
    if (const auto texts = loaded.text_outputs(); !texts.empty())
      throw bad_input("the output '{}' contains strings; compare them with 'attn run --expect'",
                      printable(texts.front().name));
    io::Arrays read = io::read_arrays(path);
    const std::vector<keras::TextInput> of_strings = loaded.text_inputs();
    std::erase_if(read.texts, [&](const NamedTexts& texts) {
      return std::ranges::none_of(of_strings, [&](const auto& input) { return input.name == texts.name; });
    });
    std::vector<NamedTensor> arrays = std::move(read.tensors);
    for (auto& [name, tensor] : open::encoded_texts(loaded, read.texts, arrays, path))
      if (given.arrays.emplace(name, tensor).second) given.files.emplace(name, path);
    for (const std::string& name : loaded.input_names()) {
      const auto array = std::find_if(arrays.begin(), arrays.end(),
                                      [&](const NamedTensor& candidate) { return candidate.name == name; });
      if (array == arrays.end() || given.arrays.contains(name)) continue;
      given.arrays.emplace(name, array->tensor);
      given.files.emplace(name, path);
    }
    return arrays;
  }

  /// Warns if --batch-size or --seq-len differ from the inputs in the file of --expect, which determine the sizes.
  void check_sizes(const graph::Graph& graph) const {
    const auto told = [&](const char* option, const auto& asked, const std::optional<std::int64_t>& used) {
      if (asked && used && *asked != *used)
        common.console.warn(
            fmt::format("{} {} has no effect: the arrays of {} have {}", option, *asked, printable(*expect), *used));
    };
    told("--batch-size", execution.batch, open::batch_of(graph));
    told("--seq-len", execution.sequence_length, open::sequence_length_of(graph));
  }

  [[nodiscard]] Side prepare(const open::LoadedModel& loaded, const open::Execution& setting,
                             const open::GivenInputs& given) const {
    const keras::LowerOptions lower = open::lower_options(setting, given);
    Side side{&loaded,
              setting,
              open::open_backend(setting.device, setting.backend, common.console),
              loaded.model.lower(lower),
              {},
              {}};
    open::require_memory(loaded, lower, side.graph, *side.backend, setting,
                         outputs_only ? run::Keep::outputs : run::Keep::layer_outputs);
    side.inputs = run::make_inputs(side.graph, given.arrays, setting.seed);
    side.weights = open::load_weights(loaded, setting, common.console);
    return side;
  }

  [[nodiscard]] std::vector<run::PassArray> record(const Side& side) const {
    const std::string_view backend = side.backend->name();
    Progress progress(common.console, fmt::format("running ({})", backend), outputs_only ? 1.0 : 2.0);
    return run::record_pass(*side.backend, side.graph, side.weights, side.inputs, side.execution.compile_options(),
                            !outputs_only, [&](double share) { progress.advance(share); });
  }

  /// Renames the arrays of a file that has only outputs to the numbers of the outputs, because Keras names outputs by
  /// layers.
  static void number_outputs(std::vector<NamedTensor>& arrays, const run::OutputNames& names) {
    if (arrays.size() != names.size()) return;
    const auto find = [&](const std::string& name) { return std::ranges::find(arrays, name, &NamedTensor::name); };
    if (!std::ranges::all_of(names, [&](const auto& name) { return find(name.second) != arrays.end(); })) return;
    for (const auto& [number, name] : names) find(name)->name = number;
  }

  [[nodiscard]] report::ComparedSide describe(const Side& side) const {
    report::ComparedSide out;
    out.setting = library::setting_of(*side.loaded, side.graph, *side.backend, side.execution);
    if (weights.size() > 1) out.weights = *side.execution.weights;
    if (other) out.weights = side.loaded->weights.value_or(fmt::format("random, seed {}", side.execution.seed));
    return out;
  }

  static run::WeightsComparison compare_weights(const open::LoadedModel& loaded, const std::vector<Side>& passes) {
    const std::vector<graph::WeightSpec> specs = loaded.model.weights();
    const auto named = [&](const Side& side) {
      std::vector<NamedTensor> out;
      for (std::size_t i = 0; i < specs.size(); ++i) out.push_back({specs[i].path, side.weights[i]});
      return out;
    };
    return run::compare_weights(named(passes.front()), named(passes.back()), {0, 0});
  }

  void choose_tolerance(report::RunComparisonReport& report, const std::vector<Side>& passes,
                        const std::vector<NamedTensor>& expected) const {
    DType dtype = DType::float64;
    for (const Side& side : passes)
      dtype = run::coarser(dtype, run::coarsest_dtype(side.graph, side.execution.precision));
    for (const NamedTensor& array : expected) dtype = run::coarser(dtype, array.tensor.dtype());
    report.tolerance = run::usual_tolerance(dtype);
    report.tolerance_reason = report::tolerance_reason(dtype);
    int bits = 0;  // bits of the weights, if only one side is quantized
    if (passes.size() == 2 && (bits_of(*passes[0].loaded) == 0) != (bits_of(*passes[1].loaded) == 0))
      bits = std::max(bits_of(*passes[0].loaded), bits_of(*passes[1].loaded));
    if (const run::ToleranceRule coarse = run::quantized_tolerance(bits);
        bits > 0 && coarse.atol > report.tolerance.atol) {
      report.tolerance = coarse;
      report.tolerance_reason = fmt::format("usual for weights of int{}", bits);
    }
    if (rtol) report.tolerance.rtol = *rtol;
    if (atol) {
      report.tolerance.atol = *atol;
      report.tolerance.of_rms = false;
    }
    if (rtol || atol)
      report.tolerance_reason =
          rtol && atol ? "as requested"
                       : fmt::format("{} as requested, the other {}", rtol ? "rtol" : "atol", report.tolerance_reason);
  }
};

}  // namespace

Command compare_command() { return command_of<CompareCommand>("compare", "compare two runs or two models"); }

}  // namespace attn::cli
