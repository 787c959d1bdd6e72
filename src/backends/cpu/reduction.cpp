// Sums, means and extremes over neighbouring axes: x as (outer, length, inner).
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

// Larger than y, or NaN: neither is at most y, unless y is NaN already.
ATTN_VECTORIZED(void, raise_row, float* y, const float* x, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = x[i] <= y[i] || y[i] != y[i] ? y[i] : x[i];
}
ATTN_VECTORIZED(void, lower_row, float* y, const float* x, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = x[i] >= y[i] || y[i] != y[i] ? y[i] : x[i];
}
ATTN_VECTORIZED(float, sum_row, const float* x, std::int64_t size) { return sum_of(x, size); }

class ReduceKernel final : public Kernel {
 public:
  explicit ReduceKernel(const Step& step) : fn_(step.op<graph::Reduce>().fn), x_(step.inputs[0]), y_(step.outputs[0]) {
    const auto& op = step.op<graph::Reduce>();
    const int first = op.axes.front(), last = op.axes.back() + 1;
    outer_ = x_.shape.slice(0, first).size();
    length_ = x_.shape.slice(first, last).size();
    inner_ = x_.shape.slice(last, x_.shape.rank()).size();
    team_ = step.engine.team_for(2.0 * static_cast<double>(x_.size()));
  }

  void run() override {
    parallel_ranges(outer_, team_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        reduce(x_.data<float>() + i * length_ * inner_, y_.data<float>() + i * inner_);
      }
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  void reduce(const float* x, float* y) const {
    const bool sums = fn_ == ReduceFn::sum || fn_ == ReduceFn::mean;
    if (sums && inner_ == 1) {
      *y = sum_row(x, length_);
    } else {
      std::copy_n(x, inner_, y);
      const auto row = sums ? add_to : fn_ == ReduceFn::max ? raise_row : lower_row;
      for (std::int64_t j = 1; j < length_; ++j) row(y, x + j * inner_, inner_);
    }
    if (fn_ == ReduceFn::mean) scale_row(y, 1.0F / static_cast<float>(length_), y, inner_);
  }

  ReduceFn fn_;
  Operand x_, y_;
  std::int64_t outer_, length_, inner_;
  Team team_;
};

std::string why_not(const StepInfo& step) {
  const auto& op = step.op<graph::Reduce>();
  const bool has_kernel =
      op.fn == ReduceFn::sum || op.fn == ReduceFn::mean || op.fn == ReduceFn::max || op.fn == ReduceFn::min;
  if (!has_kernel) return fmt::format("no kernel here for {}", graph::name_of(op.fn));
  if (op.axes.empty()) return "there is no axis";
  const bool are_neighbours = op.axes.back() - op.axes.front() + 1 == static_cast<int>(op.axes.size());
  return are_neighbours ? "" : "the axes are not neighbours";
}

}  // namespace

Kernels kernels_of(const graph::Reduce&) {
  static constexpr KernelInfo kKernels[] = {{Takes::float32, why_not, no_memory, make_as<ReduceKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
