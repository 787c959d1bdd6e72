// What all kernels of an executable share: threads, memory, packed weights, and the CPU as oneDNN sees it.
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
#include "isa.h"
#include "multiplication.h"
#include "parallel.h"
#include "weight_memory.h"

namespace attn::backends::cpu {

/// How a kernel lays out the numbers of a weight: panels of 32 columns, tiles (amx_pack.h), panels of integers
/// (integer_panels.h), or what oneDNN asks for.
struct Layout {
  enum class Kind : std::uint8_t { panels, tiles, integers, onednn };
  Kind kind;
  DType dtype = DType::float32;
  int parts = 1;  ///< numbers of `dtype` that stand for one of the weight's; of integers their form
  friend auto operator<=>(const Layout&, const Layout&) = default;  // NOLINT(modernize-use-nullptr): none is meant
};

/// A weight as kernels have packed it, by layout, for others that read the same one: ALBERT's layers share theirs.
struct Packed {
  std::shared_ptr<std::byte> bytes;
  dnnl::memory blocked;  ///< of oneDNN's layout
};
using PackedWeight = std::map<Layout, Packed>;

/// Begins the word for a weight that no other executable has.
inline constexpr char kOwnWeight = '#';

/// Which weight: how it comes about (plan::recipe), or a word of its own; and whether it is transposed.
struct WeightKey {
  std::string recipe;
  bool is_transposed = false;
  // NOLINTNEXTLINE(modernize-use-nullptr): none is meant
  friend auto operator<=>(const WeightKey&, const WeightKey&) = default;
};

class RnnTrace;
/// A step's graph and what it reads.
using StepKey = std::pair<const graph::Graph*, std::vector<graph::ValueId>>;

/// Memory that all kernels use, as one runs at a time.
class SharedMemory {
 public:
  /// Makes it at least as large. It may move, until all kernels are made.
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

/// What an executable may use.
struct Machine {
  int threads;
  Multiplication multiplication;
};

/// The CPU as oneDNN sees it, the threads that may be used, and what kernels share.
struct Engine {
  Engine(int thread_count, double work, const Multiplication& how = {})
      : threads(thread_count), work_per_thread(work), multiplication(how), pool(thread_count) {}

  Isa limited_to = isa();  ///< before oneDNN is first called
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  int threads;
  double work_per_thread;
  Multiplication multiplication;
  Pool pool;
  /// For what a widened step reads and writes, and for what a kernel needs while it runs.
  SharedMemory operands, scratch;
  /// What a step leaves for the next one, in turn, as that one may leave something too.
  std::array<SharedMemory, 2> handovers;
  /// For what is packed.
  WeightMemory weights;
  /// For as long as the executables that may come want to find them.
  std::map<WeightKey, PackedWeight> packed;
  /// What recurrent layers leave for their gradients, by what they read; they hold it.
  std::map<StepKey, std::weak_ptr<RnnTrace>> traces;
  /// With which collectives are; null: there is one rank.
  communicators::Communicator* ranks = nullptr;

  [[nodiscard]] Machine machine() const { return {threads, multiplication}; }
  /// As many threads as are worth waking for `work`, in floating-point operations or bytes to move.
  [[nodiscard]] Team team_for(double work) {
    return {&pool, static_cast<int>(std::clamp(work / work_per_thread, 1.0, static_cast<double>(threads)))};
  }
};

}  // namespace attn::backends::cpu
