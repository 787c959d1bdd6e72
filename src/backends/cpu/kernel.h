// The executable form of a plan's steps: kernels with all memory allocated and bound. Each kernel has one record that
// states which steps it supports, the memory that it needs, and how it is made.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "step.h"

namespace attn::backends::cpu {

/// One step of a plan, ready to run.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run() = 0;
  /// "onednn matmul", "simple", "reference"
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Returns the bytes of packed weights and of private scratch memory.
  [[nodiscard]] virtual std::int64_t bytes() const { return 0; }
};

/// A weight that a kernel packs. If another kernel has packed it in this layout, that copy is used.
struct Packing {
  std::size_t input;
  bool is_transposed;
  Layout layout;
  std::int64_t bytes;
};

/// The memory of a kernel in bytes.
struct MemoryNeeds {
  std::int64_t held = 0;         ///< private memory, for the kernel's lifetime
  std::vector<Packing> packs{};  ///< packed weights, shared with other kernels that read the weight
  std::int64_t making = 0;       ///< memory only while the kernel is made
  std::int64_t scratch = 0;      ///< memory while the kernel runs; shared by all kernels
  std::int64_t operands = 0;     ///< memory while the kernel runs, for float32 copies of its operands
  std::vector<bool> copied{};    ///< for each input, whether it is copied and never read again; empty: none is
  bool uses_library = false;     ///< whether the memory of oneDNN's code is added
};

/// The dtype that a kernel computes in; the first input decides.
enum class KernelDType : std::uint8_t {
  any,                 ///< any dtype, and arrays without elements: the kernel only moves bytes
  float32,             ///< float32; half precision is widened before the kernel runs
  float32_or_bfloat16  ///< float32 or bfloat16; float16 is widened, and bfloat16 if the kernel declines the step
};

/// A kernel's record. Members that are references have no default, so a record without one of them does not compile.
struct KernelInfo {
  KernelDType takes;
  /// Returns the reason not to use the kernel for the step, or "". Called only if `takes` holds and every output has
  /// elements.
  std::string (&why_not)(const StepInfo& step);
  /// Returns an upper bound of the kernel's memory, slightly above the actual amount. Throws Error (no_memory) if it
  /// overflows.
  MemoryNeeds (&needs)(const StepInfo& step);
  std::unique_ptr<Kernel> (&make)(const Step& step);
  /// Returns whether a fixed input may stay in half precision if the step is widened to float32. Null: no input may.
  bool (*keeps_half)(const StepInfo& step, std::size_t input) = nullptr;
};

/// Members for kernels that run every step of their operation, need no memory, and are made by a constructor.
[[nodiscard]] inline std::string takes_all(const StepInfo&) { return ""; }
[[nodiscard]] inline MemoryNeeds no_memory(const StepInfo&) { return {}; }
template <typename KernelClass>
[[nodiscard]] std::unique_ptr<Kernel> make_as(const Step& step) {
  return std::make_unique<KernelClass>(step);
}

/// Returns the product of sizes. Throws Error (no_memory) if it exceeds kMaxSize.
[[nodiscard]] std::int64_t bytes_times(std::initializer_list<std::int64_t> factors);

/// The kernels of an operation, the best first; empty if the reference loops run it.
using Kernels = std::span<const KernelInfo>;
template <typename Op>
[[nodiscard]] Kernels kernels_of(const Op&) {
  return {};
}
[[nodiscard]] Kernels kernels_of(const graph::Unary&);
[[nodiscard]] Kernels kernels_of(const graph::Binary&);
[[nodiscard]] Kernels kernels_of(const graph::Select&);
[[nodiscard]] Kernels kernels_of(const graph::Cast&);
[[nodiscard]] Kernels kernels_of(const graph::Linear&);
[[nodiscard]] Kernels kernels_of(const graph::QuantizedLinear&);
[[nodiscard]] Kernels kernels_of(const graph::MatMul&);
[[nodiscard]] Kernels kernels_of(const graph::Softmax&);
[[nodiscard]] Kernels kernels_of(const graph::Attention&);
[[nodiscard]] Kernels kernels_of(const graph::Append&);
[[nodiscard]] Kernels kernels_of(const graph::CachedAttention&);
[[nodiscard]] Kernels kernels_of(const graph::LayerNorm&);
[[nodiscard]] Kernels kernels_of(const graph::BatchNorm&);
[[nodiscard]] Kernels kernels_of(const graph::Reduce&);
[[nodiscard]] Kernels kernels_of(const graph::Reshape&);
[[nodiscard]] Kernels kernels_of(const graph::Transpose&);
[[nodiscard]] Kernels kernels_of(const graph::Broadcast&);
[[nodiscard]] Kernels kernels_of(const graph::Concat&);
[[nodiscard]] Kernels kernels_of(const graph::Slice&);
[[nodiscard]] Kernels kernels_of(const graph::Pad&);
[[nodiscard]] Kernels kernels_of(const graph::Gather&);
[[nodiscard]] Kernels kernels_of(const graph::Conv&);
[[nodiscard]] Kernels kernels_of(const graph::Rnn&);
[[nodiscard]] Kernels kernels_of(const graph::DeltaRule&);
[[nodiscard]] Kernels kernels_of(const graph::Dequantize&);
[[nodiscard]] Kernels kernels_of(const graph::Einsum&);
[[nodiscard]] Kernels kernels_of(const graph::Cumulate&);
[[nodiscard]] Kernels kernels_of(const graph::Pool&);
[[nodiscard]] Kernels kernels_of(const graph::UnaryGrad&);
[[nodiscard]] Kernels kernels_of(const graph::AttentionGrad&);
[[nodiscard]] Kernels kernels_of(const graph::LayerNormGrad&);
[[nodiscard]] Kernels kernels_of(const graph::BatchNormTraining&);
[[nodiscard]] Kernels kernels_of(const graph::BatchNormGrad&);
[[nodiscard]] Kernels kernels_of(const graph::Scatter&);
[[nodiscard]] Kernels kernels_of(const graph::ScatterAdd&);
[[nodiscard]] Kernels kernels_of(const graph::ConvInputGrad&);
[[nodiscard]] Kernels kernels_of(const graph::ConvKernelGrad&);
[[nodiscard]] Kernels kernels_of(const graph::PoolGrad&);
[[nodiscard]] Kernels kernels_of(const graph::RnnGrad&);
[[nodiscard]] Kernels kernels_of(const graph::SoftmaxCrossEntropy&);
[[nodiscard]] Kernels kernels_of(const graph::SoftmaxCrossEntropyGrad&);
[[nodiscard]] Kernels kernels_of(const graph::Dropout&);

}  // namespace attn::backends::cpu
