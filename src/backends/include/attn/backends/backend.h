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

/// The kernel of a step, and why other kernels were not selected. For --verbose.
struct KernelChoice {
  graph::NodeId node = graph::kNone;
  std::string kernel;  ///< "onednn matmul", "simple", "reference"
  std::string why;     ///< the reasons of the kernels that were not selected, or ""
};

/// The precision of float32 matrix products, in PyTorch's terms. `highest` is float32. The others allow a backend to
/// round the operands if that is faster: `high` to TF32's 10 bits or better, `medium` to bfloat16's 7 bits.
enum class MatmulPrecision : std::uint8_t { highest, high, medium };

/// Data that the executables of one model share, such as those for prefill and for decode steps. It holds packed
/// weights, so that they exist only once. It also holds graph states by name, so that one executable can continue from
/// the state of another. Not thread-safe.
class SharedStore {
 public:
  virtual ~SharedStore() = default;
  /// Returns a copy of a state. Throws Error (internal) if no executable has a state of that name.
  [[nodiscard]] virtual Tensor state(const std::string& name) const = 0;
  /// Overwrites a state with a value of the same shape and dtype.
  virtual void set_state(const std::string& name, const Tensor& value) = 0;
};

struct CompileOptions {
  int threads = 0;  ///< 0: all threads of the machine
  MatmulPrecision precision = MatmulPrecision::highest;
  /// Whether to measure which of a library's algorithms is the fastest, or to use cached measurements. Otherwise the
  /// choice, and with it every bit of the result, is the same in every run.
  bool tune = false;
  /// A store from make_store() of the same backend; by default an executable has its own store.
  std::shared_ptr<SharedStore> store = nullptr;
  /// The ranks of the graph's collectives; must outlive the executable. Null for a single rank.
  communicators::Communicator* ranks = nullptr;
};

/// Called after each step of a profiled run with the node and its seconds.
using StepTimer = std::function<void(graph::NodeId, double)>;

/// Measures with a device's own clock, without the copies from and to the host.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  /// Runs one more pass over the inputs of the last run, and returns its seconds. With `cold_cache`, no weight or value
  /// is in the device's cache at the start.
  virtual double pass_seconds(bool cold_cache) = 0;
};

/// A plan with bound weights, ready for repeated runs. Not thread-safe.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Runs one pass. `inputs` are in the order of graph.inputs, with exactly their shapes and dtypes. The results can be
  /// read with value() until the next run. Throws Error for invalid input values (an index out of range). Throws
  /// Stopped if stop_requested() is true between two steps; there are no results then.
  virtual void run(std::span<const Tensor> inputs) = 0;
  /// Runs one pass and reports each step's time.
  virtual void run_profiled(std::span<const Tensor> inputs, const StepTimer& timer) = 0;
  /// Returns a view of a value of the last run: an output or scores of the graph. Other values may have been
  /// overwritten.
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
  /// Returns an upper bound of the host memory in bytes that compile() and the executable's runs use at any time,
  /// including weights and inputs. The bound is slightly above the actual amount. Allocates nothing. Throws Error
  /// (no_memory) if a sum exceeds kMaxSize.
  [[nodiscard]] virtual std::int64_t memory_needed(const plan::Plan& plan, const CompileOptions& options) const = 0;
  /// Returns an empty store for the executables of one model that are compiled with these options.
  [[nodiscard]] virtual std::shared_ptr<SharedStore> make_store(const CompileOptions& options) const = 0;
  /// Returns for each weight of the graph whether compile() with these options reads it. A weight whose packed form is
  /// already in the store may be passed without bytes.
  [[nodiscard]] virtual std::vector<bool> reads(const plan::Plan& plan, const CompileOptions&) const {
    return std::vector<bool>(plan.graph.weights.size(), true);
  }
  /// Compiles a plan. `weights` are in the order of graph.weights; they are packed if that is faster. The executable
  /// keeps the weights alive that it still reads.
  [[nodiscard]] virtual std::unique_ptr<Executable> compile(plan::Plan plan, std::vector<Tensor> weights,
                                                            const CompileOptions& options) const = 0;
};

}  // namespace attn::backends
