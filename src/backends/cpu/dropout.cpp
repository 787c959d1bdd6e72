// Dropout by TensorFlow's stateless random numbers.
#include <algorithm>

#include "attn/base/tensorflow_random.h"
#include "kernel.h"
#include "parallel.h"

namespace attn::backends::cpu {
namespace {

/// Of noise that has x's shape.
class DropoutKernel final : public Kernel {
 public:
  explicit DropoutKernel(const Step& step)
      : op_(step.op<graph::Dropout>()),
        x_(step.inputs[0]),
        count_(step.inputs[1]),
        y_(step.outputs[0]),
        team_(step.engine.team_for(20.0 * static_cast<double>(x_.size()))) {}

  void run() override {
    const TensorflowRandom random(op_.seed, *count_.data<std::int64_t>());
    const auto scale = static_cast<float>(1.0 / (1.0 - op_.rate));
    // A number is 23 bits over 2²³, so the rate is a number of these.
    constexpr std::uint32_t kOne = 1U << 23;
    const auto dropped = static_cast<float>(op_.rate) * static_cast<float>(kOne);
    const float* const x = x_.data<float>();
    float* const y = y_.data<float>();
    constexpr std::int64_t kWords = 4;  // of a block
    const std::int64_t size = x_.size();
    parallel_ranges((size + kWords - 1) / kWords, team_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; ++block) {
        const TensorflowRandom::Block words = random[static_cast<std::uint64_t>(block)];
        const std::int64_t first = block * kWords, count = std::min(kWords, size - first);
        for (std::int64_t i = 0; i < count; ++i) {
          const auto number = static_cast<float>(words[static_cast<std::size_t>(i)] & (kOne - 1));
          y[first + i] = number >= dropped ? x[first + i] * scale : 0.0F;
        }
      }
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  graph::Dropout op_;
  Operand x_, count_, y_;
  Team team_;
};

std::string why_not(const StepInfo& step) {
  // Widened to float32 a half would be dropped by other numbers.
  if (step.inputs[0].dtype != DType::float32) return "numbers of another dtype are drawn";
  return step.op<graph::Dropout>().noise == step.inputs[0].shape ? "" : "several numbers are dropped together";
}

}  // namespace

Kernels kernels_of(const graph::Dropout&) {
  static constexpr KernelInfo kKernels[] = {{Takes::any, why_not, no_memory, make_as<DropoutKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
