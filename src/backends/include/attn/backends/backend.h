// The interface between a plan and its execution.
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

/// The kernel of a step, and why others were not selected: for --verbose.
struct KernelChoice {
  graph::NodeId node = graph::kNone;
  std::string kernel;  ///< "onednn matmul", "simple", "reference"
  std::string why;     ///< the reason of each kernel that declined, or ""
};

/// The precision of float32 matrix products, in PyTorch's terms. `highest` is float32. The others allow a backend to
/// round the operands if that is faster: `high` to TF32's 10 bits or better, `medium` to bfloat16's 7.
enum class MatmulPrecision : std::uint8_t { highest, high, medium };

/// State shared by the executables of one model, such as those for prefill and for decode steps. It holds packed
/// weights, which exist once, and the states of their graphs by name, through which one executable continues another's
/// work. Not thread-safe.
class SharedStore {
 public:
  virtual ~SharedStore() = default;
  /// Returns a copy of a state. Throws Error (internal) if no executable has a state of that name.
  [[nodiscard]] virtual Tensor state(const std::string& name) const = 0;
  /// Overwrites a state; same shape and dtype.
  virtual void set_state(const std::string& name, const Tensor& value) = 0;
};

struct CompileOptions {
  int threads = 0;  ///< 0: all that the machine has
  MatmulPrecision precision = MatmulPrecision::highest;
  /// Measure which of a library's algorithms is the fastest, or use cached measurements. Otherwise the choice, and with
  /// it every bit of the result, is the same at every run.
  bool tune = false;
  /// From the same backend's make_store(); by default an executable has its own store.
  std::shared_ptr<SharedStore> store = nullptr;
  /// The ranks of the graph's collectives, for as long as the executable lives; null for a single rank.
  communicators::Communicator* ranks = nullptr;
};

/// Called after each step of a profiled run with the node and its seconds.
using StepTimer = std::function<void(graph::NodeId, double)>;

/// Timing by a device's own clock, without the copies from and to the host.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  /// Returns the seconds of one more pass over the inputs of the last run; with `cold_cache` the device's cache holds
  /// no weights or values at the start.
  virtual double pass_seconds(bool cold_cache) = 0;
};

/// A plan with bound weights, ready for repeated runs. Not thread-safe.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Runs one pass. `inputs` are in the order of graph.inputs, with exactly their shapes and dtypes. `value` returns
  /// the results until the next run. Throws Error for invalid input values (an index out of range), and Stopped if
  /// stop_requested() is seen between two steps; there are no results then.
  virtual void run(std::span<const Tensor> inputs) = 0;
  /// Runs one pass and reports each step's time.
  virtual void run_profiled(std::span<const Tensor> inputs, const StepTimer& timer) = 0;
  /// Returns the value as of the last run: outputs and scores of the graph (others may have been overwritten). A view.
  [[nodiscard]] virtual Tensor value(graph::ValueId id) const = 0;
  [[nodiscard]] virtual std::vector<KernelChoice> choices() const = 0;
  /// Returns the bytes of packed weights, states, prepared values, arena and scratch memory.
  [[nodiscard]] virtual std::int64_t memory_bytes() const = 0;
  /// Returns the device's clock; null if the host is the device. It lives as long as the executable.
  [[nodiscard]] virtual DeviceClock* device_clock() { return nullptr; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;    ///< "reference", "onednn"
  [[nodiscard]] virtual std::string_view device() const = 0;  ///< "cpu", "cuda:0"
  /// Applies the fusions that this backend supports (graph → graph).
  [[nodiscard]] virtual graph::Graph optimize(graph::Graph graph) const = 0;
  /// Returns an upper bound, slightly above the actual amount, of the host memory that compile() and the executable's
  /// runs hold at one time, weights and inputs included. Allocates nothing. Throws Error (no_memory) if a sum exceeds
  /// kMaxSize.
  [[nodiscard]] virtual std::int64_t memory_needed(const plan::Plan& plan, const CompileOptions& options) const = 0;
  /// Returns an empty store for the executables of one model that are compiled with these options.
  [[nodiscard]] virtual std::shared_ptr<SharedStore> make_store(const CompileOptions& options) const = 0;
  /// Returns for each weight of the graph whether compile() with these options reads it. A weight whose packed form is
  /// already in the store may be passed without bytes.
  [[nodiscard]] virtual std::vector<bool> reads(const plan::Plan& plan, const CompileOptions&) const {
    return std::vector<bool>(plan.graph.weights.size(), true);
  }
  /// Compiles a plan. `weights` are in the order of graph.weights; they are read, and packed where that is faster. The
  /// executable keeps alive the ones that it still reads.
  [[nodiscard]] virtual std::unique_ptr<Executable> compile(plan::Plan plan, std::vector<Tensor> weights,
                                                            const CompileOptions& options) const = 0;
};

}  // namespace attn::backends
