// The one seam between a plan and what runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/communicators/communicator.h"
#include "attn/plan/plan.h"

namespace attn::backends {

/// Which kernel runs a step, and why others would not: for --verbose.
struct KernelChoice {
  graph::NodeId node = graph::kNone;
  std::string kernel;  ///< "onednn matmul", "simple", "reference"
  std::string why;     ///< the reason of each kernel that declined, or ""
};

/// How exact the products of float32 matrices are, in PyTorch's words. `highest` is float32; the others allow a backend
/// that gains by it to round the operands: `high` to TF32's 10 bits or better, `medium` to bfloat16's 7.
enum class MatmulPrecision : std::uint8_t { highest, high, medium };

/// What the executables of one model have in common, such as those for a prompt and for one token more: weights as they
/// were packed, which are held once, and the states of their graphs by name, which one leaves and another goes on with.
/// Not for two threads at once.
class SharedStore {
 public:
  virtual ~SharedStore() = default;
  /// A copy of a state. Throws Error (internal) where no executable has a state of that name.
  [[nodiscard]] virtual Tensor state(const std::string& name) const = 0;
  /// Overwrites a state, of the same shape and dtype.
  virtual void set_state(const std::string& name, const Tensor& value) = 0;
};

struct CompileOptions {
  int threads = 0;  ///< 0: as many as the machine gives
  MatmulPrecision precision = MatmulPrecision::highest;
  /// Measure which of a library's algorithms is the fastest, or take what was measured before. Without it the choice,
  /// and so every bit of the result, is the same at every run.
  bool tune = false;
  /// As the same backend's make_store() gave it; without one an executable has a store of its own.
  std::shared_ptr<SharedStore> store = nullptr;
  /// The ranks with which the graph's collectives are, for as long as the executable lives; without them there is one.
  communicators::Communicator* ranks = nullptr;
};

/// Called after each step of a profiled run with the node and its seconds.
using StepTimer = std::function<void(graph::NodeId, double)>;

/// Times on a device that has a clock of its own, without the copies from and to the host.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  /// Seconds of one more pass over the inputs of the last run; with `cold_cache` the device's cache holds none of the
  /// weights or values when it begins.
  virtual double pass_seconds(bool cold_cache) = 0;
};

/// A plan with its weights bound, ready to run many times. Not for two threads at once.
class Executable {
 public:
  virtual ~Executable() = default;
  /// One pass. `inputs` are in the order of graph.inputs, with exactly their shapes and dtypes. Afterwards `value`
  /// gives the results, until the next run. Throws Error where the numbers themselves are wrong input (an index out of
  /// range), Stopped where stop_requested() is seen between two steps; then there are no results.
  virtual void run(std::span<const Tensor> inputs) = 0;
  /// A run that reports each step's time.
  virtual void run_profiled(std::span<const Tensor> inputs, const StepTimer& timer) = 0;
  /// The value as of the last run: outputs and scores of the graph (others may have been overwritten). A view.
  [[nodiscard]] virtual Tensor value(graph::ValueId id) const = 0;
  [[nodiscard]] virtual std::vector<KernelChoice> choices() const = 0;
  /// Bytes held for weights as packed, states, prepared values, arena and scratch.
  [[nodiscard]] virtual std::int64_t memory_bytes() const = 0;
  /// The device's clock; null where the host is the device. It lives as long as the executable.
  [[nodiscard]] virtual DeviceClock* device_clock() { return nullptr; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;    ///< "reference", "onednn"
  [[nodiscard]] virtual std::string_view device() const = 0;  ///< "cpu", "cuda:0"
  /// Rewrites a graph with the fusions this backend can run (graph → graph).
  [[nodiscard]] virtual graph::Graph optimize(graph::Graph graph) const = 0;
  /// The most bytes of the host's memory that compile() and the executable's runs hold at one time, weights and inputs
  /// included: at least what is taken, and little more. Nothing is allocated for it. Throws Error (no_memory) where a
  /// sum passes kMaxSize.
  [[nodiscard]] virtual std::int64_t memory_needed(const plan::Plan& plan, const CompileOptions& options) const = 0;
  /// An empty store for the executables of one model that are compiled with these options.
  [[nodiscard]] virtual std::shared_ptr<SharedStore> make_store(const CompileOptions& options) const = 0;
  /// By weight of the graph: does compile() with these options read its numbers? Those of which the store already holds
  /// all that the plan needs may be given without bytes.
  [[nodiscard]] virtual std::vector<bool> reads(const plan::Plan& plan, const CompileOptions&) const {
    return std::vector<bool>(plan.graph.weights.size(), true);
  }
  /// `weights` are in the order of graph.weights. They are read, and packed where that pays; the executable keeps alive
  /// what it still reads.
  [[nodiscard]] virtual std::unique_ptr<Executable> compile(plan::Plan plan, std::vector<Tensor> weights,
                                                            const CompileOptions& options) const = 0;
};

}  // namespace attn::backends
