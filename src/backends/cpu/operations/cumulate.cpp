// Cumulative sums and products along an axis, with x as (outer, length, inner).
#include <algorithm>

#include "doubles.h"
#include "kernel.h"
#include "parallel.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

/// Up to 8 adjacent columns. Each is processed from `x` and `y` on, in steps of `step` elements.
struct Running {
  bool product, exclusive;
  const float* x;
  float* y;
  std::int64_t length, step, count;
};

/// Accumulates in double and rounds each result once.
ATTN_VECTORIZED(void, run_along, const Running& column) {
  Doubles total = Doubles{} + (column.product ? 1.0 : 0.0);
  for (std::int64_t j = 0; j < column.length; ++j) {
    const Doubles before = total;
    Doubles next;
    load_some(column.x + j * column.step, column.count, next);
    total = column.product ? total * next : total + next;
    const Doubles result = column.exclusive ? before : total;
    store_some(result, column.count, column.y + j * column.step);
  }
}

void run_along_one(const Running& column) {
  double total = column.product ? 1.0 : 0.0;
  for (std::int64_t j = 0; j < column.length; ++j) {
    const double before = total, next = column.x[j * column.step];
    total = column.product ? total * next : total + next;
    column.y[j * column.step] = static_cast<float>(column.exclusive ? before : total);
  }
}

class CumulateKernel final : public Kernel {
 public:
  explicit CumulateKernel(const Step& step)
      : op_(step.op<graph::Cumulate>()),
        x_(step.inputs[0]),
        y_(step.outputs[0]),
        length_(x_.shape[op_.axis]),
        inner_(x_.shape.slice(op_.axis + 1, x_.shape.rank()).size()),
        team_(step.engine.team_for(4.0 * static_cast<double>(x_.size()))) {}

  void run() override {
    const std::int64_t columns = (inner_ + kHalf - 1) / kHalf, outer = x_.size() / (length_ * inner_);
    parallel_ranges(outer * columns, team_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t c = i % columns * kHalf, last = op_.reverse ? (length_ - 1) * inner_ : 0;
        const std::int64_t first = i / columns * length_ * inner_ + c + last;
        const Running column{op_.product,
                             op_.exclusive,
                             x_.data<float>() + first,
                             y_.data<float>() + first,
                             length_,
                             op_.reverse ? -inner_ : inner_,
                             std::min<std::int64_t>(inner_ - c, kHalf)};
        inner_ == 1 ? run_along_one(column) : run_along(column);
      }
    });
  }
  [[nodiscard]] std::string_view name() const override { return "simple"; }

 private:
  graph::Cumulate op_;
  Operand x_, y_;
  std::int64_t length_, inner_;
  Team team_;
};

}  // namespace

Kernels kernels_of(const graph::Cumulate&) {
  static constexpr KernelInfo kKernels[] = {{KernelDType::float32, takes_all, no_memory, make_as<CumulateKernel>}};
  return kKernels;
}

}  // namespace attn::backends::cpu
