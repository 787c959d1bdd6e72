// Adds rows to the rows of a table that indices select.
#include <cstdint>

#include "device.h"
#include "fault.h"
#include "number.h"
#include "plain.h"
#include "threads.h"
#include "walk.h"

namespace attn::cuda {
namespace {

/// y (outer, size, inner) receives the sums of the rows of x (outer, taken, inner) with the same index.
struct ScatterAddPlan {
  Array x, indices, y;
  std::int64_t outer = 1, size = 1, taken = 1, inner = 1;
  std::int64_t parts = 1;  ///< parts of 32 columns in a row of y
  Reporter report;
};

/// One warp sums 32 columns of one row of y, in the order of the indices. There are no atomics, so every pass gives the
/// same bits. The lanes compare 32 indices at a time.
template <typename Number>
__global__ void scatter_add_kernel(ScatterAddPlan plan) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Divided part = divide(warp_index(), plan.parts), row = divide(part.quotient, plan.size);
  if (row.quotient >= plan.outer) return;
  const std::int64_t column = part.remainder * kWarpThreads + lane_index();
  const std::int64_t x_start = row.quotient * plan.taken * plan.inner + column;
  Number sum{};
  for (std::int64_t first = 0; first < plan.taken; first += kWarpThreads) {
    const std::int64_t own = first + lane_index();
    bool is_here = false;
    if (own < plan.taken) {
      const auto index = load<std::int64_t>(plan.indices, own);
      const std::int64_t named = index < 0 ? index + plan.size : index;
      if (named < 0 || named >= plan.size) plan.report(Fault::index_out_of_range, index, plan.size);
      is_here = named == row.remainder;
    }
    for (unsigned here = __ballot_sync(kWholeWarp, is_here); here != 0; here &= here - 1) {
      const std::int64_t from = first + __ffs(static_cast<int>(here)) - 1;
      if (column < plan.inner) sum += load<Number>(plan.x, x_start + from * plan.inner);
    }
  }
  if (column < plan.inner) store(plan.y, part.quotient * plan.inner + column, sum);
}

}  // namespace

Choice make_plain(const graph::ScatterAdd& op, const Step& step) {
  const Operand& y = step.outputs[0];
  ScatterAddPlan plan;
  plan.x = array_of(step.inputs[0]);
  plan.indices = array_of(step.inputs[1]);
  plan.y = array_of(y);
  plan.outer = y.shape.slice(0, op.axis).size();
  plan.size = op.size;
  plan.taken = step.inputs[1].size();
  plan.inner = y.shape.slice(op.axis + 1, y.shape.rank()).size();
  plan.parts = (plan.inner + kWarpThreads - 1) / kWarpThreads;
  plan.report = reporter_of(step);
  return {"plain", [plan](cudaStream_t stream) {
            const LaunchShape shape = warp_each(plan.outer * plan.size * plan.parts);
            with_ring_of(plan.y.dtype, [&](auto zero) {
              check(launch(scatter_add_kernel<decltype(zero)>, shape, stream, plan), "scatter_add");
            });
          }};
}

}  // namespace attn::cuda
