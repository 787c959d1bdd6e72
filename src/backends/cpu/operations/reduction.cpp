// Sums, means and extremes over adjacent axes, with x as (outer, length, inner).
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernel.h"
#include "loops.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

using graph::ReduceFn;

// y = max(x, y), or NaN if either is NaN.
ATTN_VECTORIZED(void, raise_row, float* y, const float* x, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = x[i] <= y[i] || y[i] != y[i] ? y[i] : x[i];
}
ATTN_VECTORIZED(void, lower_row, float* y, const float* x, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = x[i] >= y[i] || y[i] != y[i] ? y[i] : x[i];
}
ATTN_VECTORIZED(float, sum_row, const float* x, std::int64_t size) { return sum_of(x, size); }

/// Sums of a few long columns are split into blocks, which are added in order, so that the result does not depend on
/// threads.
constexpr std::int64_t kLeastLength = 64, kMostBlocks = 64, kLeastNumbers = 1 << 14;

/// The sizes of x as (outer, length, inner).
struct ReduceSize {
  explicit ReduceSize(const StepInfo& step) {
    const auto& op = step.op<graph::Reduce>();
    const Shape& x = step.inputs[0].shape;
    const int first = op.axes.front(), last = op.axes.back() + 1;
    outer = x.slice(0, first).size();
    length = x.slice(first, last).size();
    inner = x.slice(last, x.rank()).size();
    const bool sums = op.fn == ReduceFn::sum || op.fn == ReduceFn::mean;
    if (sums && outer < kMostBlocks && x.size() >= kLeastNumbers)
      blocks = std::clamp<std::int64_t>(length / kLeastLength, 1, kMostBlocks);
  }
  [[nodiscard]] std::int64_t scratch() const {
    return blocks == 1 ? 0 : bytes_times({outer, blocks, inner, bytes_of(DType::float32)});
  }
  std::int64_t outer, length, inner, blocks = 1;
};

class ReduceKernel final : public Kernel {
 public:
  explicit ReduceKernel(const Step& step)
      : fn_(step.op<graph::Reduce>().fn),
        size_(step),
        x_(step.inputs[0]),
        y_(step.outputs[0]),
        engine_(step.engine),
        team_(step.engine.team_for(2.0 * static_cast<double>(x_.size()))) {
    engine_.scratch.reserve(size_.scratch());
  }

  void run() override {
    const auto [outer, length, inner, blocks] = size_;
    const float* const x = x_.data<float>();
    float* const y = y_.data<float>();
    float* const parts = blocks == 1 ? y : reinterpret_cast<float*>(engine_.scratch.get());
    parallel_for(outer * blocks, team_, [&, length = length, inner = inner, blocks = blocks](std::int64_t i, int) {
      const std::int64_t block = i % blocks, first = length * block / blocks, end = length * (block + 1) / blocks;
      reduce(x + (i / blocks * length + first) * inner, end - first, parts + i * inner);
    });
    for (std::int64_t i = 0; blocks > 1 && i < outer; ++i) {
      std::copy_n(parts + i * blocks * inner, inner, y + i * inner);
      for (std::int64_t block = 1; block < blocks; ++block)
        add_to(y + i * inner, parts + (i * blocks + block) * inner, inner);
    }
    if (fn_ == ReduceFn::mean) scale_row(y, 1.0F / static_cast<float>(length), y, outer * inner);
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  void reduce(const float* x, std::int64_t length, float* y) const {
    const bool sums = fn_ == ReduceFn::sum || fn_ == ReduceFn::mean;
    if (sums && size_.inner == 1) {
      *y = sum_row(x, length);
      return;
    }
    std::copy_n(x, size_.inner, y);
    const auto row = sums ? add_to : fn_ == ReduceFn::max ? raise_row : lower_row;
    for (std::int64_t j = 1; j < length; ++j) row(y, x + j * size_.inner, size_.inner);
  }

  ReduceFn fn_;
  ReduceSize size_;
  Operand x_, y_;
  Engine& engine_;
  Team team_;
};

std::string why_not(const StepInfo& step) {
  const auto& op = step.op<graph::Reduce>();
  const bool has_kernel =
      op.fn == ReduceFn::sum || op.fn == ReduceFn::mean || op.fn == ReduceFn::max || op.fn == ReduceFn::min;
  if (!has_kernel) return fmt::format("no kernel here for {}", graph::name_of(op.fn));
  if (op.axes.empty()) return "there is no axis";
  const bool are_neighbours = op.axes.back() - op.axes.front() + 1 == static_cast<int>(op.axes.size());
  return are_neighbours ? "" : "the axes are not adjacent";
}

MemoryNeeds needs_of(const StepInfo& step) {
  MemoryNeeds needs;
  needs.scratch = ReduceSize(step).scratch();
  return needs;
}

}  // namespace

Kernels kernels_of(const graph::Reduce&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::float32, why_not, needs_of, make_as<ReduceKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
