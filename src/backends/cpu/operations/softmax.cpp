// Softmax over the last axes.
#include <algorithm>
#include <cmath>

#include "kernel.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

ATTN_VECTORIZED(void, softmax_row, const float* x, float* y, std::int64_t size) {
  const float maximum = max_of(x, size);
  for (std::int64_t i = 0; i < size; ++i) y[i] = exp_below_0(x[i] - maximum);
  const float inverse = 1.0F / sum_of(y, size);
  for (std::int64_t i = 0; i < size; ++i) y[i] *= inverse;
}

ATTN_VECTORIZED(void, log_softmax_row, const float* x, float* y, std::int64_t size) {
  const float maximum = max_of(x, size);
  for (std::int64_t i = 0; i < size; ++i) y[i] = exp_below_0(x[i] - maximum);
  const float logarithm = std::log(sum_of(y, size));
  for (std::int64_t i = 0; i < size; ++i) y[i] = x[i] - maximum - logarithm;
}

class SoftmaxKernel final : public Kernel {
 public:
  explicit SoftmaxKernel(const Step& step) : x_(step.inputs[0]), y_(step.outputs[0]) {
    const auto& op = step.op<graph::Softmax>();
    row_ = op.kind == graph::SoftmaxKind::softmax ? softmax_row : log_softmax_row;
    length_ = 1;
    for (const int axis : op.axes) length_ *= x_.shape[axis];
    constexpr double kWork = 20.0;  // rough number of operations per element
    team_ = step.engine.team_for(kWork * static_cast<double>(x_.size()));
  }

  void run() override {
    const float* const x = x_.data<float>();
    float* const y = y_.data<float>();
    parallel_ranges(x_.size() / length_, team_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) row_(x + row * length_, y + row * length_, length_);
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  Operand x_, y_;
  void (*row_)(const float*, float*, std::int64_t);
  std::int64_t length_;
  Team team_;
};

std::string why_not(const StepInfo& step) {
  const auto& op = step.op<graph::Softmax>();
  if (op.kind == graph::SoftmaxKind::sparsemax) return "no kernel here for sparsemax";
  const int rank = step.inputs[0].shape.rank();
  const auto is_last = [&](int axis) { return axis >= rank - static_cast<int>(op.axes.size()); };
  return std::ranges::all_of(op.axes, is_last) ? "" : "the axes are not the last ones";
}

}  // namespace

Kernels kernels_of(const graph::Softmax&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::float32, why_not, no_memory, make_as<SoftmaxKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
