// Dropout by blocks of four random words, on all threads: the numbers of the reference's loop.
#include <cmath>

#include "attn/base/tensorflow_random.h"
#include "kernel.h"
#include "parallel.h"

namespace attn::backends::cpu {
namespace {

class DropoutKernel final : public Kernel {
 public:
  explicit DropoutKernel(const Step& step)
      : op_(step.op<graph::Dropout>()),
        x_(step.inputs[0]),
        count_(step.inputs[1]),
        y_(step.outputs[0]),
        // A number costs as much as moving a dozen bytes.
        team_(step.engine.team_for(12.0 * static_cast<double>(y_.size()))) {}

  void run() override {
    const TensorflowRandom random(op_.seed, *count_.data<std::int64_t>());
    // A uniform float32 is k/2^23; it is kept where that is not below the rate.
    constexpr std::uint32_t kMantissa = (std::uint32_t{1} << 23) - 1;
    const auto least =
        static_cast<std::uint32_t>(std::ceil(static_cast<double>(static_cast<float>(op_.rate)) * 0x1p23));
    const auto scale = static_cast<float>(1.0 / (1.0 - op_.rate));
    const float* const x = x_.data<float>();
    float* const y = y_.data<float>();
    const std::int64_t size = y_.size(), blocks = (size + 3) / 4;
    parallel_ranges(blocks, team_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; ++block) {
        const TensorflowRandom::Block words = random[static_cast<std::uint64_t>(block)];
        const std::int64_t first = 4 * block, count = std::min<std::int64_t>(4, size - first);
        for (std::int64_t i = 0; i < count; ++i) {
          const bool kept = (words[static_cast<std::size_t>(i)] & kMantissa) >= least;
          y[first + i] = kept ? x[first + i] * scale : 0.0F;
        }
      }
    });
  }
  [[nodiscard]] std::string_view name() const override { return "dropout"; }

 private:
  graph::Dropout op_;
  Operand x_, count_, y_;
  Team team_;
};

std::string why_not_dropout(const StepInfo& step) {
  // The numbers of halves are drawn otherwise.
  if (step.outputs[0].dtype != DType::float32) return "it is not float32";
  return step.op<graph::Dropout>().noise == step.outputs[0].shape ? "" : "numbers are dropped together";
}

}  // namespace

Kernels kernels_of(const graph::Dropout&) {
  static constexpr KernelInfo kKernels[] = {{Takes::any, why_not_dropout, no_memory, make_as<DropoutKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
