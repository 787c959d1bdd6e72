// From a MODEL and options to something that runs: what run and bench share.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/keras/model.h"
#include "attn/report/values.h"
#include "attn/run/session.h"
#include "model_source.h"
#include "options/options.h"
#include "output/console.h"

namespace attn::cli {

/// The options that say how a model runs.
struct Execution {
  std::optional<std::string> input_shape;
  std::optional<std::string> keras_version;  ///< of the model
  std::string device = "cpu", backend;
  std::optional<std::string> dtype, weights;
  std::optional<std::int64_t> batch, sequence_length;
  std::uint64_t seed = 0;
  int threads = 0;
  std::optional<std::string> memory_limit;
  bool skip_padding = false;
  std::string compat = "none";
  backends::MatmulPrecision precision = backends::MatmulPrecision::highest;

  [[nodiscard]] backends::CompileOptions compile_options() const { return {threads, precision, false}; }
};

/// --device, --backend, --weights, --seed and the like, for one value each.
void add_execution(Options& options, Execution& execution);

/// The model at `path`, as the options say that it is to be read.
[[nodiscard]] LoadedModel load_model(const std::optional<std::string>& path, const Execution& execution,
                                     const Console& console);

/// Says on stderr where --seq-len means nothing to the model, because it fixes its lengths.
void warn_of_fixed_lengths(const keras::Model& model, const std::optional<std::int64_t>& length,
                           const Console& console);

/// The backend for a --device and --backend; where "auto" finds no GPU it says so on stderr.
[[nodiscard]] std::unique_ptr<backends::Backend> open_backend(const std::string& device, const std::string& name,
                                                              const Console& console);

/// Throws Error (no_memory), with the largest batch or length that fits, where the weights and a pass of the graph,
/// which is the model lowered so, do not fit into memory. For before anything large is allocated. Gives the most bytes
/// that the process will take in all.
std::int64_t require_memory(const LoadedModel& loaded, const keras::LowerOptions& lower, const graph::Graph& graph,
                            const backends::Backend& backend, const Execution& execution,
                            run::Keep keep = run::Keep::outputs);

/// Weights from --weights, else from the model's own file, else from its initializers and the seed; in the order of
/// model.weights(). Says on the command's console how far it is. Throws Error.
[[nodiscard]] std::vector<Tensor> load_weights(const LoadedModel& loaded, const Execution& execution,
                                               const Console& console);
/// From initializers and the seed alone.
[[nodiscard]] std::vector<Tensor> draw_weights(std::span<const graph::WeightSpec> specs, std::uint64_t seed,
                                               int threads, const Console& console);

/// A session of the graph, which says how long it takes to prepare.
[[nodiscard]] run::Session prepare_session(const backends::Backend& backend, graph::Graph graph,
                                           std::vector<Tensor> weights, const backends::CompileOptions& options,
                                           const Console& console, run::Keep keep = run::Keep::outputs);
/// A pass, which says how far it is.
void run_session(run::Session& session, std::span<const Tensor> inputs, const Console& console);

/// The batch of the first input.
[[nodiscard]] std::int64_t batch_of(const graph::Graph& graph);
/// The length of the first sequence axis among the inputs; nothing where there is none.
[[nodiscard]] std::optional<std::int64_t> sequence_length_of(const graph::Graph& graph);

/// What a report says the numbers of this graph were made with.
[[nodiscard]] report::Setting setting_of(const std::string& model, const graph::Graph& graph,
                                         const backends::Backend& backend, const Execution& execution);

/// The same with where the model's weights come from.
[[nodiscard]] report::Setting setting_of(const LoadedModel& loaded, const graph::Graph& graph,
                                         const backends::Backend& backend, const Execution& execution);

/// "model.keras", "random, seed 0": where load_weights takes the weights from.
[[nodiscard]] std::string weights_origin(const LoadedModel& loaded, const Execution& execution);

/// What --skip-padding does to a graph and its inputs; says with --verbose how much is left.
void skip_padding(graph::Graph& graph, std::vector<Tensor>& inputs, const Console& console);

/// Says with --verbose which kernel runs each step, and why others do not.
void note_choices(const run::Session& session, const Console& console);

}  // namespace attn::cli
