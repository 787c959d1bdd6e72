// Resources shared by all kernels of an executable: threads, memory, packed weights, and oneDNN's CPU engine.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <dnnl.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/communicators/communicator.h"
#include "attn/graph/graph.h"
#include "gemm/multiplication.h"
#include "isa.h"
#include "parallel.h"
#include "weight_memory.h"

namespace attn::backends::cpu {

/// The layout of a packed weight: panels of 32 columns, tiles (amx_pack.h), panels of integers (integer_panels.h), or
/// oneDNN's own layout.
struct Layout {
  enum class Kind : std::uint8_t { panels, tiles, integers, onednn };
  Kind kind;
  DType dtype = DType::float32;
  int parts = 1;  ///< numbers of `dtype` per weight element; for integers, the IntegerForm
  friend auto operator<=>(const Layout&, const Layout&) = default;  // a null pointer is not meant
};

/// A packed weight in one layout. All kernels that read the weight share it, such as those of ALBERT's layers.
struct Packed {
  std::shared_ptr<std::byte> bytes;
  dnnl::memory blocked;  ///< set for oneDNN's layout
};
using PackedWeight = std::map<Layout, Packed>;

/// The first character of the key of a weight that only this executable has.
inline constexpr char kOwnWeight = '#';

/// The identity of a weight: its derivation (plan::recipe) or a key of its own, and whether it is transposed.
struct WeightKey {
  std::string recipe;
  bool is_transposed = false;
  // a null pointer is not meant
  friend auto operator<=>(const WeightKey&, const WeightKey&) = default;
};

class RnnTrace;
/// The key of a trace: a step's graph and the step's inputs.
using StepKey = std::pair<const graph::Graph*, std::vector<graph::ValueId>>;

/// Scratch memory that all kernels share, because only one kernel runs at a time.
class SharedMemory {
 public:
  /// Grows the memory to at least `bytes`. The address is final only when all kernels are made.
  void reserve(std::int64_t bytes) {
    if (bytes <= size_) return;
    bytes_ = allocate_bytes(bytes);
    size_ = bytes;
  }
  [[nodiscard]] std::byte* get() const { return bytes_.get(); }
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  std::shared_ptr<std::byte> bytes_;
  std::int64_t size_ = 0;
};

/// The resources available to an executable.
struct Machine {
  int threads;
  Multiplication multiplication;
};

/// oneDNN's CPU engine, the threads, and the data that kernels share.
struct Engine {
  Engine(int thread_count, double work, const Multiplication& how = {})
      : threads(thread_count), work_per_thread(work), multiplication(how), pool(thread_count) {}

  Isa limited_to = isa();  ///< set before oneDNN's first call
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  int threads;
  double work_per_thread;
  Multiplication multiplication;
  Pool pool;
  /// Copies for widened steps, and scratch memory of kernels.
  SharedMemory operands, scratch;
  /// Data that a step leaves for the next step. There are two, because the next step may leave data too.
  std::array<SharedMemory, 2> handovers;
  /// Memory for packed weights.
  WeightMemory weights;
  /// Packed weights, kept as long as further executables may look for them.
  std::map<WeightKey, PackedWeight> packed;
  /// Traces that recurrent layers leave for their gradients. The layers own them.
  std::map<StepKey, std::weak_ptr<RnnTrace>> traces;
  /// The ranks of collectives; null: a single rank.
  communicators::Communicator* ranks = nullptr;

  [[nodiscard]] Machine machine() const { return {threads, multiplication}; }
  /// Returns the number of threads worth waking for `work`, in floating-point operations or bytes moved.
  [[nodiscard]] Team team_for(double work) {
    return {&pool, static_cast<int>(std::clamp(work / work_per_thread, 1.0, static_cast<double>(threads)))};
  }
};

}  // namespace attn::backends::cpu
