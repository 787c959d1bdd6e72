// A model made ready on a backend, and its runs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/tensor.h"
#include "attn/graph/graph.h"
#include "attn/plan/plan.h"
#include "attn/run/advance.h"

namespace attn::run {

/// Bytes that a step moves.
struct Traffic {
  std::int64_t weights = 0;  ///< of weights, constants and what was computed from them: read again in every pass
  std::int64_t others = 0;   ///< of what the pass is given and computes: fresh from the step before
  [[nodiscard]] std::int64_t total() const noexcept { return weights + others; }
};

/// One step's share of a pass.
struct StepTime {
  std::string layer;      ///< the Keras layer's name, "" for none
  std::string operation;  ///< "linear"
  std::string kernel;     ///< which implementation ran
  double seconds = 0;
  UInt128 flops = 0;
  bool of_bytes = false;  ///< multiplies_bytes()
  Traffic bytes;          ///< of what it reads and writes, each once
};

/// What one application of a layer gave.
struct LayerOutput {
  graph::LayerId layer = graph::kNone;
  int output = 0;                       ///< which of its results
  graph::ValueId value = graph::kNone;  ///< in the graph as it was lowered
  Tensor tensor;
};

/// What can be read after a pass: the model's outputs and scores, or every layer's outputs too. The latter keeps them
/// in memory, and fuses nothing over them.
enum class Keep : std::uint8_t { outputs, layer_outputs };

/// A graph as a backend will run it.
struct Planned {
  plan::Plan plan;
  std::size_t model_outputs = 0;  ///< the outputs of layers that are kept stand behind them in the plan's graph
  std::vector<LayerOutput> kept;  ///< without their tensors
};
/// Optimises the graph for the backend and plans it.
[[nodiscard]] Planned plan_for(const backends::Backend& backend, graph::Graph graph, Keep keep = Keep::outputs);

/// Owns the executable. Not for two threads at once.
class Session {
 public:
  /// Optimises the graph for the backend, plans it, and compiles it with the weights (in the order of graph.weights).
  Session(const backends::Backend& backend, graph::Graph graph, std::vector<Tensor> weights,
          const backends::CompileOptions& options, Keep keep = Keep::outputs);
  /// The same of what plan_for() made.
  Session(const backends::Backend& backend, Planned planned, std::vector<Tensor> weights,
          const backends::CompileOptions& options);

  /// One pass; `inputs` as make_inputs gives them. `advance` is told the share of the pass that each step was, by its
  /// arithmetic and traffic; a device that is not the host takes all steps at once, and tells nothing. Throws what
  /// Executable::run does, and Stopped where a stop was asked for before it: devices do not look.
  void run(std::span<const Tensor> inputs, const Advance& advance = {});
  /// One pass, with each step's time.
  [[nodiscard]] std::vector<StepTime> profile(std::span<const Tensor> inputs);
  /// The results of the last pass, as views that the next pass overwrites.
  [[nodiscard]] std::vector<NamedTensor> outputs() const;
  /// The attention probabilities of the last pass, by layer, of a graph that was lowered with scores.
  [[nodiscard]] std::vector<NamedTensor> scores() const;

  /// What each layer gave in the last pass, in the order of graph().layers, as views that the next pass overwrites;
  /// nothing without Keep::layer_outputs.
  [[nodiscard]] std::vector<LayerOutput> layer_outputs() const;

  /// The clock of a device that is not the host, else null.
  [[nodiscard]] backends::DeviceClock* device_clock() { return executable_->device_clock(); }
  [[nodiscard]] const backends::Executable& executable() const { return *executable_; }
  /// The graph that runs.
  [[nodiscard]] const graph::Graph& graph() const { return graph_; }

 private:
  graph::Graph graph_;
  std::vector<graph::NodeId> steps_;  // those of graph_ that run
  std::size_t model_outputs_ = 0;
  std::vector<LayerOutput> kept_;
  std::unique_ptr<backends::Executable> executable_;
};

/// Bytes of the values that a node reads and writes, each once; `fixed` is of its graph.
[[nodiscard]] Traffic traffic(const graph::Graph& graph, const graph::Node& node, const std::vector<bool>& fixed);
/// FLOPs of one pass.
[[nodiscard]] UInt128 total_flops(const graph::Graph& graph);

}  // namespace attn::run
