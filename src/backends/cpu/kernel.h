// What a plan's steps become: kernels with everything allocated and bound; and one record for each kernel, which says
// what the kernel takes, what memory that costs, and makes it.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "step.h"

namespace attn::backends::cpu {

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

/// A weight as a kernel packs it, and finds it where another kernel has packed it in this layout already.
struct Packing {
  std::size_t input;
  bool is_transposed;
  Layout layout;
  std::int64_t bytes;
};

/// The memory that a kernel takes, in bytes.
struct Needs {
  std::int64_t held = 0;         ///< for as long as the kernel lives, by itself
  std::vector<Packing> packs{};  ///< the same, together with others that read the weight
  std::int64_t making = 0;       ///< only while the kernel is made
  std::int64_t scratch = 0;      ///< while it runs; all kernels share it
  std::int64_t operands = 0;     ///< likewise, for float32 copies of what it reads and writes
  std::vector<bool> copied{};    ///< by input: the kernel has its own copy and never reads it again; empty: none
  bool uses_library = false;     ///< oneDNN's code comes with it
};

/// The numbers on which a kernel works, by its first input.
enum class Takes : std::uint8_t {
  any,                 ///< any dtype, and arrays without elements: bytes are moved
  float32,             ///< halves are widened for it
  float32_or_bfloat16  ///< other halves, and a bfloat16 that it declines, are widened
};

/// A kernel's record. The members that are references have no default: a kernel without one of them does not compile.
struct KernelInfo {
  Takes takes;
  /// Why the kernel would not run the step, or "". Asked only where `takes` holds and every output has elements.
  std::string (&why_not)(const StepInfo& step);
  /// At least what the made kernel holds, and little more. Throws Error (no_memory) where no number tells it.
  Needs (&needs)(const StepInfo& step);
  std::unique_ptr<Kernel> (&make)(const Step& step);
  /// May an input that is fixed stay in half precision where the step is widened to float32? Null: none may.
  bool (*keeps_half)(const StepInfo& step, std::size_t input) = nullptr;
};

/// For kernels that run every step that they take, that need no memory, and that a constructor makes.
[[nodiscard]] inline std::string takes_all(const StepInfo&) { return ""; }
[[nodiscard]] inline Needs no_memory(const StepInfo&) { return {}; }
template <typename Made>
[[nodiscard]] std::unique_ptr<Kernel> make_as(const Step& step) {
  return std::make_unique<Made>(step);
}

/// The product of sizes. Throws Error (no_memory) where it passes kMaxSize.
[[nodiscard]] std::int64_t bytes_times(std::initializer_list<std::int64_t> factors);

/// An operation's kernels, the best first; none where the reference's loops run it.
using Kernels = std::span<const KernelInfo>;
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
[[nodiscard]] inline Kernels kernels_of(const graph::Quantize&) { return {}; }
[[nodiscard]] Kernels kernels_of(const graph::Dequantize&);
[[nodiscard]] Kernels kernels_of(const graph::Einsum&);
[[nodiscard]] Kernels kernels_of(const graph::Cumulate&);
[[nodiscard]] inline Kernels kernels_of(const graph::Iota&) { return {}; }
[[nodiscard]] inline Kernels kernels_of(const graph::Fill&) { return {}; }
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
[[nodiscard]] inline Kernels kernels_of(const graph::AllReduce&) { return {}; }
[[nodiscard]] inline Kernels kernels_of(const graph::AllGather&) { return {}; }
[[nodiscard]] inline Kernels kernels_of(const graph::ReduceScatter&) { return {}; }
[[nodiscard]] inline Kernels kernels_of(const graph::Shift&) { return {}; }

}  // namespace attn::backends::cpu
