#include "attn/open/session.h"

#include <fmt/format.h>

#include <utility>

#include "attn/backends/registry.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/weights.h"
#include "attn/run/padding.h"
#include "attn/weights/bind.h"
#include "attn/weights/quantize.h"

namespace attn::open {

std::unique_ptr<backends::Backend> open_backend(const std::string& device, const std::string& name,
                                                const Listener& listener) {
  backends::MadeBackend made = backends::make_backend(device, name);
  if (!made.fell_back.empty()) listener.warn(fmt::format("{}; running on the CPU", made.fell_back));
  return std::move(made.backend);
}

std::vector<Tensor> load_weights(const LoadedModel& loaded, const Execution& execution, const Listener& listener) {
  const WantedWeights wanted = wanted_weights(loaded.floats ? *loaded.floats : loaded.model);
  const bool in_memory = loaded.arrays && !execution.weights;
  const std::optional<std::string> file = execution.weights ? execution.weights : loaded.weights;
  std::vector<Tensor> out;
  if (in_memory) {
    out = weights::bind(wanted.specs, *loaded.arrays);
  } else if (file) {
    const auto work = listener.begin("reading " + *file);
    out = load_weights(wanted, *file);
  } else if (!loaded.floats) {
    out = draw_weights(wanted.specs, execution.seed, execution.threads, listener);
  }
  if (!loaded.floats) return out;
  // Each float weight is freed as soon as it is quantized; weights that no file provides are drawn one by one.
  const auto work = listener.begin("quantizing");
  return weights::quantize(loaded.model.weights(), wanted.specs, [&](std::size_t i) {
    if (in_memory || file) return std::exchange(out[i], Tensor());
    return draw_weights(std::span(wanted.specs).subspan(i, 1), execution.seed, execution.threads).front();
  });
}

std::vector<Tensor> draw_weights(std::span<const graph::WeightSpec> specs, std::uint64_t seed, int threads,
                                 const Listener& listener) {
  double numbers = 0;
  for (const graph::WeightSpec& spec : specs) numbers += static_cast<double>(spec.shape.size());
  const auto work = listener.begin("drawing weights", numbers);
  return draw_weights(specs, seed, threads,
                      [&](const Tensor& drawn) { work->advance(static_cast<double>(drawn.size())); });
}

run::Session prepare_session(const backends::Backend& backend, graph::Graph graph, std::vector<Tensor> weights,
                             const backends::CompileOptions& options, const Listener& listener, run::Keep keep) {
  const auto work = listener.begin("preparing");
  return {backend, std::move(graph), std::move(weights), options, keep};
}

void run_session(run::Session& session, std::span<const Tensor> inputs, const Listener& listener) {
  const auto work = listener.begin("running", 1.0);
  session.run(inputs, [&](double share) { work->advance(share); });
}

std::string weights_origin(const LoadedModel& loaded, const Execution& execution) {
  if (loaded.arrays && !execution.weights) return "in memory";
  const std::optional<std::string>& file = execution.weights ? execution.weights : loaded.weights;
  return file ? *file : fmt::format("random, seed {}", execution.seed);
}

void skip_padding(graph::Graph& graph, std::vector<Tensor>& inputs, const Listener& listener) {
  if (!graph.scores.empty())
    throw bad_usage("`scores` cannot be combined with `skip_padding`, which does not compute the weights of padding");
  run::Unpadded unpadded = run::skip_padding(std::move(graph), inputs);
  listener.note(fmt::format("{} of {} positions are not padding", unpadded.rows, unpadded.positions));
  graph = std::move(unpadded.graph);
  inputs = std::move(unpadded.inputs);
}

void note_choices(const run::Session& session, const Listener& listener) {
  for (const backends::KernelChoice& choice : session.executable().choices()) {
    const graph::Node& node = session.graph().nodes[static_cast<std::size_t>(choice.node)];
    const std::string layer =
        node.layer == graph::kNone ? "" : session.graph().layers[static_cast<std::size_t>(node.layer)].name;
    listener.note(fmt::format("{} {}: {}{}", printable(layer), graph::name_of(node.op), choice.kernel,
                              choice.why.empty() ? "" : " (" + choice.why + ")"));
  }
}

}  // namespace attn::open
