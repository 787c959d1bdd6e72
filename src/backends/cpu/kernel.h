// What a plan's steps become: kernels with everything allocated and bound.
#pragma once

#include <fmt/format.h>

#include <dnnl.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"
#include "isa.h"
#include "multiplication.h"
#include "parallel.h"

namespace attn::backends::cpu {

/// A weight as kernels have packed it, for others that read the same one: ALBERT's layers share theirs.
struct Packed {
  std::shared_ptr<std::byte> panels, bfloat16_panels, tiles;
  int tile_parts = 0;  ///< of each number in `tiles`
  dnnl::memory blocked;
};

/// What a product on tiles finds or leaves in the engine's `handover`, packed, in place of x or y.
enum class Handover : std::uint8_t { none, takes, leaves };

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
  /// What a product leaves packed for the next step.
  SharedMemory handover;
  /// By the weight and whether it is transposed; empty once all kernels are made.
  std::map<std::pair<graph::ValueId, bool>, Packed> packed;

  /// As many threads as are worth waking for `work`, in floating-point operations or bytes to move.
  [[nodiscard]] Team team_for(double work) {
    return {&pool, static_cast<int>(std::clamp(work / work_per_thread, 1.0, static_cast<double>(threads)))};
  }
};

/// The numbers of a value. Type and shape are known when a kernel is made; where the bytes are is asked at each run, as
/// inputs move.
struct Operand {
  std::byte* const* place = nullptr;  ///< the executable's, for as long as it lives
  DType dtype = DType::float32;
  Shape shape;

  template <typename T>
  [[nodiscard]] T* data() const {
    return reinterpret_cast<T*>(*place);
  }
  [[nodiscard]] std::int64_t size() const { return shape.size(); }
};

/// The operand as a tensor, which does not keep the bytes alive.
[[nodiscard]] Tensor view_of(const Operand& operand);

/// One step of a plan, made ready.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run() = 0;
  /// "onednn matmul", "simple", "reference"
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Bytes of packed weights and of scratch that is not shared.
  [[nodiscard]] virtual std::int64_t bytes() const { return 0; }
};

/// What a kernel is made from.
struct Step {
  const graph::Node& node;
  const graph::Graph& graph;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  std::vector<Tensor> fixed;  ///< by input: the weight or constant that it always is, else without bytes
  Engine& engine;
  Handover handover = Handover::none;
  mutable std::vector<bool> packed;  ///< by input: set by a kernel that keeps its own copy and never reads it again

  [[nodiscard]] bool is_fixed(std::size_t input) const { return fixed[input].data() != nullptr; }
};

/// A kernel, or the reason why there is none here.
struct Choice {
  std::unique_ptr<Kernel> kernel;
  std::string why_not;

  template <typename Made>
  Choice(std::unique_ptr<Made> made) : kernel(std::move(made)) {}  // NOLINT: a kernel is a choice
  Choice(std::string reason) : why_not(std::move(reason)) {}       // NOLINT: and so is a reason
  Choice(const char* reason) : why_not(reason) {}                  // NOLINT
};

/// Kernels, or why not. choose() asks only where every output has elements; arithmetic also only for float32 inputs
/// that all have elements (Linear, Attention and LayerNorm for bfloat16 too; see keeps_bfloat16()), and movement
/// for any dtype.
Choice make(const graph::Unary& op, const Step& step);
Choice make(const graph::Binary& op, const Step& step);
Choice make(const graph::Select& op, const Step& step);
Choice make(const graph::Cast& op, const Step& step);
Choice make(const graph::Linear& op, const Step& step);
Choice make(const graph::MatMul& op, const Step& step);
Choice make(const graph::Softmax& op, const Step& step);
Choice make(const graph::Attention& op, const Step& step);
Choice make(const graph::LayerNorm& op, const Step& step);
Choice make(const graph::BatchNorm& op, const Step& step);
Choice make(const graph::Reduce& op, const Step& step);
Choice make(const graph::Transpose& op, const Step& step);
Choice make(const graph::Reshape& op, const Step& step);
Choice make(const graph::Broadcast& op, const Step& step);
Choice make(const graph::Concat& op, const Step& step);
Choice make(const graph::Slice& op, const Step& step);
Choice make(const graph::Pad& op, const Step& step);
Choice make(const graph::Gather& op, const Step& step);
Choice make(const graph::Conv& op, const Step& step);
Choice make(const graph::Rnn& op, const Step& step);

/// What a kernel of a normalization needs, in whatever dtype.
[[nodiscard]] bool normalizes_last_axes(const graph::LayerNorm& op, const Shape& x);

/// The kernel that will run a step, and why better ones would not.
struct Chosen {
  std::unique_ptr<Kernel> kernel;
  std::string why;
};
[[nodiscard]] Chosen choose(const Step& step);

}  // namespace attn::backends::cpu
