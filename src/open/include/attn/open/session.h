// From a model to something that runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/run/session.h"

namespace attn::open {

/// The backend of a device, by its name or the device's best. Warns where "auto" finds no GPU.
[[nodiscard]] std::unique_ptr<backends::Backend> open_backend(const std::string& device, const std::string& name,
                                                              const Listener& listener);

/// Weights from execution.weights, else from the model's own file, else from its initializers and the seed; in the
/// order of model.weights(). Throws Error.
[[nodiscard]] std::vector<Tensor> load_weights(const LoadedModel& loaded, const Execution& execution,
                                               const Listener& listener);
/// From initializers and the seed alone.
[[nodiscard]] std::vector<Tensor> draw_weights(std::span<const graph::WeightSpec> specs, std::uint64_t seed,
                                               int threads, const Listener& listener);

/// "model.keras", "random, seed 0": where load_weights takes the weights from.
[[nodiscard]] std::string weights_origin(const LoadedModel& loaded, const Execution& execution);

/// A session of the graph, which tells the listener how long it takes to prepare.
[[nodiscard]] run::Session prepare_session(const backends::Backend& backend, graph::Graph graph,
                                           std::vector<Tensor> weights, const backends::CompileOptions& options,
                                           const Listener& listener, run::Keep keep = run::Keep::outputs);
/// A pass, which tells the listener how far it is.
void run_session(run::Session& session, std::span<const Tensor> inputs, const Listener& listener);

/// Leaves out the positions of the inputs that padding masks hide, and notes how many are left. Throws Error (usage)
/// where the graph keeps attention scores.
void skip_padding(graph::Graph& graph, std::vector<Tensor>& inputs, const Listener& listener);

/// Notes which kernel runs each step, and why others do not.
void note_choices(const run::Session& session, const Listener& listener);

}  // namespace attn::open
