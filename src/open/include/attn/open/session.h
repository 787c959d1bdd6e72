// Opens backends and weights, and makes sessions.
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

/// Opens the backend of a device, by its name or the device's best. Warns if "auto" finds no GPU.
[[nodiscard]] std::unique_ptr<backends::Backend> open_backend(const std::string& device, const std::string& name,
                                                              const Listener& listener);

/// Loads weights from execution.weights, else from the model's own file, else draws them from its initializers and the
/// seed; in the order of model.weights(). Throws Error.
[[nodiscard]] std::vector<Tensor> load_weights(const LoadedModel& loaded, const Execution& execution,
                                               const Listener& listener);
/// Draws the weights of `specs` from initializers and the seed, in order.
[[nodiscard]] std::vector<Tensor> draw_weights(std::span<const graph::WeightSpec> specs, std::uint64_t seed,
                                               int threads, const Listener& listener);

/// Returns the source of load_weights: "model.keras", "random, seed 0".
[[nodiscard]] std::string weights_origin(const LoadedModel& loaded, const Execution& execution);

/// Prepares a session of the graph, and reports the time to the listener.
[[nodiscard]] run::Session prepare_session(const backends::Backend& backend, graph::Graph graph,
                                           std::vector<Tensor> weights, const backends::CompileOptions& options,
                                           const Listener& listener, run::Keep keep = run::Keep::outputs);
/// Runs a pass, and reports its progress to the listener.
void run_session(run::Session& session, std::span<const Tensor> inputs, const Listener& listener);

/// Leaves out the positions of the inputs that padding masks hide, and notes how many are left. Throws Error (usage) if
/// the graph keeps attention scores.
void skip_padding(graph::Graph& graph, std::vector<Tensor>& inputs, const Listener& listener);

/// Notes the kernel of each step, and why others were not chosen.
void note_choices(const run::Session& session, const Listener& listener);

}  // namespace attn::open
