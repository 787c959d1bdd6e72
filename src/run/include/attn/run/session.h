// A model compiled for a backend, and its runs.
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

/// The bytes that a step moves.
struct Traffic {
  std::int64_t weights = 0;  ///< bytes of weights, constants and values computed from them: read again in every pass
  std::int64_t others = 0;   ///< bytes of inputs and computed values: recently written by an earlier step
  [[nodiscard]] std::int64_t total() const noexcept { return weights + others; }
};

/// The time of one step in a pass.
struct StepTime {
  std::string layer;      ///< name of the Keras layer; "" if there is none
  std::string operation;  ///< name of the operation: "linear"
  std::string kernel;     ///< name of the implementation that ran
  double seconds = 0;
  UInt128 flops = 0;
  bool of_bytes = false;  ///< whether is_int8_product() is true of the operation
  Traffic bytes;          ///< all bytes that the step reads and writes, each counted once
};

/// An output of a layer call.
struct LayerOutput {
  graph::LayerId layer = graph::kNone;
  int output = 0;                       ///< index of the result
  graph::ValueId value = graph::kNone;  ///< the value in the lowered graph
  Tensor tensor;
};

/// Selects what can be read after a pass: the model's outputs and scores, or also every layer's outputs. The latter
/// keeps them in memory and disables fusion across them.
enum class Keep : std::uint8_t { outputs, layer_outputs };

/// A graph after optimization for a backend.
struct Planned {
  plan::Plan plan;
  std::size_t model_outputs = 0;  ///< number of model outputs; kept layer outputs follow them in the plan's graph
  std::vector<LayerOutput> kept;  ///< the kept layer outputs, without tensors
};
/// Optimizes the graph for the backend and plans it.
[[nodiscard]] Planned plan_for(const backends::Backend& backend, graph::Graph graph, Keep keep = Keep::outputs);

/// Owns the executable. Not thread-safe.
class Session {
 public:
  /// Optimizes the graph for the backend, plans it, and compiles it with the weights (in the order of graph.weights).
  Session(const backends::Backend& backend, graph::Graph graph, std::vector<Tensor> weights,
          const backends::CompileOptions& options, Keep keep = Keep::outputs);
  /// Compiles the result of plan_for().
  Session(const backends::Backend& backend, Planned planned, std::vector<Tensor> weights,
          const backends::CompileOptions& options);

  /// Runs one pass; `inputs` come from make_inputs. `advance` gets the fraction of the pass for each step, estimated
  /// from its FLOPs and bytes. A device other than the host runs all steps at once and reports none. Throws the errors
  /// of Executable::run. Throws Stopped if a stop was requested before the pass; devices do not check for a stop during
  /// the pass.
  void run(std::span<const Tensor> inputs, const Advance& advance = {});
  /// Runs one pass and returns the time of each step.
  [[nodiscard]] std::vector<StepTime> profile(std::span<const Tensor> inputs);
  /// Returns the results of the last pass, as views that are valid until the next pass.
  [[nodiscard]] std::vector<NamedTensor> outputs() const;
  /// Returns the attention probabilities of the last pass, by layer, if the graph was lowered with scores.
  [[nodiscard]] std::vector<NamedTensor> scores() const;

  /// Returns the layer outputs of the last pass, in the order of graph().layers, as views that are valid until the next
  /// pass; empty without Keep::layer_outputs.
  [[nodiscard]] std::vector<LayerOutput> layer_outputs() const;

  /// Returns the clock of the device; null for the host.
  [[nodiscard]] backends::DeviceClock* device_clock() { return executable_->device_clock(); }
  [[nodiscard]] const backends::Executable& executable() const { return *executable_; }
  /// Returns the graph after optimization.
  [[nodiscard]] const graph::Graph& graph() const { return graph_; }

 private:
  graph::Graph graph_;
  std::vector<graph::NodeId> steps_;  // nodes of graph_ that run
  std::size_t model_outputs_ = 0;
  std::vector<LayerOutput> kept_;
  std::unique_ptr<backends::Executable> executable_;
};

/// Returns the bytes of the values that a node reads and writes, each counted once; `fixed` marks values of its graph
/// that are the same in every pass.
[[nodiscard]] Traffic traffic(const graph::Graph& graph, const graph::Node& node, const std::vector<bool>& fixed);
/// Returns the FLOPs of one pass.
[[nodiscard]] UInt128 total_flops(const graph::Graph& graph);

}  // namespace attn::run
