#include "prepared_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "arguments/shared_options.h"
#include "attn/backends/registry.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/library/weights.h"
#include "attn/run/padding.h"
#include "attn/weights/quantize.h"
#include "memory_limit.h"
#include "output/progress.h"

namespace attn::cli {
namespace {

/// The dtype that was asked for, else that of the model's layers.
std::string dtype_name(const graph::Graph& graph, const std::optional<std::string>& asked) {
  if (asked) return *asked;
  for (const graph::Node& node : graph.nodes) {
    const DType dtype = graph.value(node.outputs.front()).dtype;
    const bool computes =
        !std::holds_alternative<graph::Cast>(node.op) && !std::holds_alternative<graph::Gather>(node.op);
    if (computes && is_floating(dtype)) return std::string(name_of(dtype));
  }
  return "float32";
}

/// As many threads as will run.
int thread_count(int asked) {
  return asked > 0 ? asked : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

std::int64_t batch_of(const graph::Graph& graph) {
  const Shape first = graph.inputs.empty() ? Shape{} : graph.value(graph.inputs.front()).shape;
  return first.rank() == 0 ? 1 : first[0];
}

std::optional<std::int64_t> sequence_length_of(const graph::Graph& graph) {
  for (const graph::ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    const bool tokens = !is_floating(value.dtype) && value.shape.rank() == 2;
    if (tokens || value.shape.rank() == 3) return value.shape[1];
  }
  return std::nullopt;
}

void add_execution(Options& options, Execution& execution) {
  add_input_shape(options, execution.input_shape);
  add_backend(options, execution.backend);
  add_weights(options, execution.weights);
  add_seed(options, execution.seed);
  add_keras_version(options, execution.keras_version);
  add_compat(options, execution.compat);
  add_memory_limit(options, execution.memory_limit);
  options.flag("--skip-padding", execution.skip_padding,
               "compute no position that the padding mask hides; outputs are 0 there");
  add_matmul_precision(options, execution.precision);
}

LoadedModel load_model(const std::optional<std::string>& path, const Execution& execution, const Console& console) {
  std::optional<keras::Version> version;
  if (execution.keras_version) version = parse_version(*execution.keras_version);
  LoadedModel loaded = load_model(path, execution.input_shape, console, version, execution.compat,
                                  is_quantization(execution.dtype) ? execution.dtype : std::nullopt);
  warn_of_fixed_lengths(loaded.model, execution.sequence_length, console);
  return loaded;
}

void warn_of_fixed_lengths(const keras::Model& model, const std::optional<std::int64_t>& length,
                           const Console& console) {
  if (length && !model.reaches_length(*length))
    console.warn(fmt::format("--seq-len {} changes nothing: the model fixes the lengths of its inputs", *length));
}

std::unique_ptr<backends::Backend> open_backend(const std::string& device, const std::string& name,
                                                const Console& console) {
  backends::MadeBackend made = backends::make_backend(device, name);
  if (!made.fell_back.empty()) console.warn(fmt::format("{}; running on the CPU", made.fell_back));
  return std::move(made.backend);
}

namespace {

/// What would fit in place of a pass that does not.
class SmallerPass {
 public:
  SmallerPass(const LoadedModel& loaded, keras::LowerOptions lower, std::function<std::int64_t(graph::Graph)> needed,
              std::int64_t limit)
      : loaded_(loaded), lower_(std::move(lower)), needed_(std::move(needed)), limit_(limit) {}

  /// "--batch 12 fits", "--batch 1 --seq-len 512 fits", or "".
  [[nodiscard]] std::string words(std::int64_t batch, std::int64_t needed, std::optional<std::int64_t> length) {
    lower_.batch = 1;
    const std::int64_t one = bytes();
    if (one > limit_) return length ? shorter(*length) : "";
    if (batch == 1) return "";
    // Bytes grow with the batch in proportion, but for rounding.
    const double each = static_cast<double>(needed - one) / static_cast<double>(batch - 1);
    auto largest = static_cast<std::int64_t>(1.0 + static_cast<double>(limit_ - one) / std::max(each, 1.0));
    largest = std::clamp<std::int64_t>(largest, 1, batch - 1);
    for (lower_.batch = largest; bytes() > limit_; lower_.batch = largest) largest = largest * 9 / 10;
    return fmt::format("--batch {} fits", largest);
  }

 private:
  [[nodiscard]] std::string shorter(std::int64_t length) {
    for (std::int64_t size = length / 2; size > 0; size /= 2) {
      lower_.sequence_length = size;
      if (bytes() <= limit_) return fmt::format("--batch 1 --seq-len {} fits", size);
    }
    return "";
  }

  [[nodiscard]] std::int64_t bytes() const {
    try {
      return needed_(loaded_.model.lower(lower_));
    } catch (const Error&) {  // a size that no number tells, or that the model does not take
      return kMaxSize;
    }
  }

  const LoadedModel& loaded_;
  keras::LowerOptions lower_;
  std::function<std::int64_t(graph::Graph)> needed_;
  std::int64_t limit_;
};

}  // namespace

std::int64_t require_memory(const LoadedModel& loaded, const keras::LowerOptions& lower, const graph::Graph& graph,
                            const backends::Backend& backend, const Execution& execution, run::Keep keep) {
  const auto needed_by = [&](graph::Graph some) {
    return run::memory_needed(backend, std::move(some), execution.compile_options(), keep);
  };
  const run::MemoryLimit limit = memory_limit(execution.memory_limit);
  const std::int64_t needed = needed_by(graph);
  run::require_memory("the model takes", static_cast<UInt128>(needed), limit, [&] {
    return SmallerPass(loaded, lower, needed_by, limit.bytes).words(batch_of(graph), needed, sequence_length_of(graph));
  });
  return run::current_memory() + needed;
}

std::vector<Tensor> load_weights(const LoadedModel& loaded, const Execution& execution, const Console& console) {
  const library::WantedWeights wanted = library::wanted_weights(loaded.floats ? *loaded.floats : loaded.model);
  const std::optional<std::string> file = execution.weights ? execution.weights : loaded.weights;
  std::vector<Tensor> out;
  if (file) {
    const Progress progress(console, "reading " + *file);
    out = library::load_weights(wanted, *file);
  } else if (!loaded.floats) {
    out = draw_weights(wanted.specs, execution.seed, execution.threads, console);
  }
  if (!loaded.floats) return out;
  // Each weight in floats goes as soon as it is quantized; what no file gives is drawn one by one.
  const Progress progress(console, "quantizing");
  return weights::quantize(loaded.model.weights(), wanted.specs, [&](std::size_t i) {
    if (file) return std::exchange(out[i], Tensor());
    return library::draw_weights(std::span(wanted.specs).subspan(i, 1), execution.seed, execution.threads).front();
  });
}

std::vector<Tensor> draw_weights(std::span<const graph::WeightSpec> specs, std::uint64_t seed, int threads,
                                 const Console& console) {
  double numbers = 0;
  for (const graph::WeightSpec& spec : specs) numbers += static_cast<double>(spec.shape.size());
  Progress progress(console, "drawing weights", numbers);
  return library::draw_weights(specs, seed, threads,
                               [&](const Tensor& drawn) { progress.advance(static_cast<double>(drawn.size())); });
}

run::Session prepare_session(const backends::Backend& backend, graph::Graph graph, std::vector<Tensor> weights,
                             const backends::CompileOptions& options, const Console& console, run::Keep keep) {
  const Progress progress(console, "preparing");
  return {backend, std::move(graph), std::move(weights), options, keep};
}

void run_session(run::Session& session, std::span<const Tensor> inputs, const Console& console) {
  Progress progress(console, "running", 1.0);
  session.run(inputs, [&](double share) { progress.advance(share); });
}

report::Setting setting_of(const std::string& model, const graph::Graph& graph, const backends::Backend& backend,
                           const Execution& execution) {
  report::Setting out;
  out.model = model;
  out.device = backend.device();
  out.backend = backend.name();
  out.dtype = dtype_name(graph, execution.dtype);
  out.matmul_precision = name_of(execution.precision);
  out.batch = batch_of(graph);
  out.seq_len = sequence_length_of(graph);
  out.threads = thread_count(execution.threads);
  out.skip_padding = execution.skip_padding;
  return out;
}

report::Setting setting_of(const LoadedModel& loaded, const graph::Graph& graph, const backends::Backend& backend,
                           const Execution& execution) {
  report::Setting out = setting_of(loaded.name, graph, backend, execution);
  out.weights = weights_origin(loaded, execution);
  return out;
}

std::string weights_origin(const LoadedModel& loaded, const Execution& execution) {
  const std::optional<std::string>& file = execution.weights ? execution.weights : loaded.weights;
  return file ? *file : fmt::format("random, seed {}", execution.seed);
}

void skip_padding(graph::Graph& graph, std::vector<Tensor>& inputs, const Console& console) {
  if (!graph.scores.empty()) throw bad_usage("--scores with --skip-padding: the weights of padding are not computed");
  run::Unpadded unpadded = run::skip_padding(std::move(graph), inputs);
  console.note(fmt::format("{} of {} positions are no padding", unpadded.rows, unpadded.positions));
  graph = std::move(unpadded.graph);
  inputs = std::move(unpadded.inputs);
}

void note_choices(const run::Session& session, const Console& console) {
  if (!console.verbose) return;
  for (const backends::KernelChoice& choice : session.executable().choices()) {
    const graph::Node& node = session.graph().nodes[static_cast<std::size_t>(choice.node)];
    const std::string layer =
        node.layer == graph::kNone ? "" : session.graph().layers[static_cast<std::size_t>(node.layer)].name;
    console.note(fmt::format("{} {}: {}{}", printable(layer), graph::name_of(node.op), choice.kernel,
                             choice.why.empty() ? "" : " (" + choice.why + ")"));
  }
}

}  // namespace attn::cli
