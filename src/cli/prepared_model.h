// From a MODEL and options to something that runs: what run and bench share.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/keras/model.h"
#include "attn/run/session.h"
#include "command.h"
#include "model_source.h"

namespace attn::cli {

/// The options that say how a model runs.
struct Execution {
  std::optional<std::string> input_shape;
  std::string device = "cpu", backend;
  std::optional<std::string> dtype, weights;
  std::optional<std::int64_t> batch, sequence_length;
  std::uint64_t seed = 0;
  int threads = 0;
};

/// --device, --backend, --weights, --seed and the like, for one value each.
void add_execution(CLI::App& app, Execution& execution);

/// Weights from --weights, else from the model's own file, else from its initializers and the seed; in the order of
/// model.weights(). Throws Error.
[[nodiscard]] std::vector<Tensor> load_weights(const LoadedModel& loaded, const Execution& execution);

/// The dtype that a report names: the one that was asked for, else that of the model's layers.
[[nodiscard]] std::string dtype_name(const graph::Graph& graph, const std::optional<std::string>& asked);

/// The length of the first sequence axis among the inputs; nothing where there is none.
[[nodiscard]] std::optional<std::int64_t> sequence_length_of(const graph::Graph& graph);

/// As many threads as will run.
[[nodiscard]] int thread_count(int asked);

/// Says with --verbose which kernel runs each step, and why others do not.
void note_choices(const run::Session& session, const Console& console);

}  // namespace attn::cli
