// Reductions over axes and cumulative sums, one warp per row.
#include <cmath>
#include <limits>
#include <type_traits>

#include "device.h"
#include "number.h"
#include "plain.h"
#include "threads.h"
#include "walk.h"

namespace attn::cuda {
namespace {

using graph::ReduceFn;

/// Adds two numbers; integers wrap modulo 2^64. The same holds for products.
template <typename Number>
__device__ Number add(Number x, Number y) {
  if constexpr (std::is_integral_v<Number>) {
    return static_cast<Number>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(y));
  } else {
    return x + y;
  }
}
template <typename Number>
__device__ Number multiply(Number x, Number y) {
  if constexpr (std::is_integral_v<Number>) {
    return static_cast<Number>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y));
  } else {
    return x * y;
  }
}

/// The elements of one row.
template <typename Number>
struct Row {
  const Rows& rows;
  Array x;
  std::int64_t start;

  [[nodiscard]] __device__ std::int64_t count() const { return rows.along.count; }
  [[nodiscard]] __device__ Number operator[](std::int64_t j) const {
    return load<Number>(x, start + rows.along.at(j).of[0]);
  }
};

/// The result of a reduction without elements. It is irrelevant for max and min, which always have elements.
template <typename Number>
__device__ Number neutral(ReduceFn fn) {
  return static_cast<Number>(fn == ReduceFn::prod || fn == ReduceFn::all ? 1 : 0);
}

/// Combines two values. One loop serves all functions, because the code that locates an element is long.
template <typename Number>
__device__ Number combine(ReduceFn fn, Number x, Number y) {
  switch (fn) {
    case ReduceFn::prod:
      return multiply(x, y);
    case ReduceFn::max:  // NaN if any is NaN
      return x != x || !(y != y || y > x) ? x : y;
    case ReduceFn::min:
      return x != x || !(y != y || y < x) ? x : y;
    case ReduceFn::any:
      return static_cast<Number>(x != Number{} || y != Number{});
    case ReduceFn::all:
      return static_cast<Number>(x != Number{} && y != Number{});
    default:
      return add(x, y);
  }
}

/// Returns whether x < y, where −0 is below 0, as in Keras's order.
template <typename Number>
__device__ bool less(Number x, Number y) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (x == y) return std::signbit(x) && !std::signbit(y);
  }
  return x < y;
}

/// The index of the first largest or smallest element. NaN never wins, so a row of NaN has index 0.
template <typename Number>
__device__ std::int64_t index_of_extreme(const Row<Number>& row, bool smallest) {
  struct Best {
    Number number{};
    std::int64_t index = -1;  ///< −1: no element yet
  };
  const auto better = [smallest](const Best& x, const Best& y) {
    if (x.index < 0 || y.index < 0) return x.index < 0 ? y : x;
    if (smallest ? less(y.number, x.number) : less(x.number, y.number)) return y;
    if (smallest ? less(x.number, y.number) : less(y.number, x.number)) return x;
    return y.index < x.index ? y : x;
  };
  Best best;
  for (std::int64_t j = lane_index(); j < row.count(); j += kWarpThreads) {
    const Number number = row[j];
    if (number == number) best = better(best, Best{number, j});
  }
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
    Best other;
    other.number = __shfl_xor_sync(kWholeWarp, best.number, distance);
    other.index = __shfl_xor_sync(kWholeWarp, best.index, distance);
    best = better(best, other);
  }
  return best.index < 0 ? 0 : best.index;
}

/// Computes ln Σ eˣ, shifted by the maximum if that is finite.
__device__ double logsumexp(const Row<double>& row) {
  const double infinity = std::numeric_limits<double>::infinity();
  double maximum = -infinity, sum = 0.0;
  for (std::int64_t j = lane_index(); j < row.count(); j += kWarpThreads) {
    const double number = row[j];
    if (number > maximum) maximum = number;
  }
  maximum = warp_max(maximum);
  const double shift = std::abs(maximum) < infinity ? maximum : 0.0;
  for (std::int64_t j = lane_index(); j < row.count(); j += kWarpThreads) sum += std::exp(row[j] - shift);
  return std::log(warp_sum(sum)) + shift;
}

template <typename Number>
__global__ void reduce_kernel(ReduceFn fn, Rows rows, Array x, Array y) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = warp_index();
  if (i >= rows.starts.count) return;
  const Row<Number> row{rows, x, rows.starts.at(i).of[0]};
  const bool extreme = fn == ReduceFn::max || fn == ReduceFn::min;
  Number result = extreme ? row[0] : neutral<Number>(fn);
  for (std::int64_t j = lane_index(); j < row.count(); j += kWarpThreads) result = combine(fn, result, row[j]);
  result = over_warp(result, [fn](Number a, Number b) { return combine(fn, a, b); });
  if (fn == ReduceFn::mean) result /= static_cast<Number>(row.count());
  if (lane_index() == 0) store(y, i, result);
}

template <typename Number>
__global__ void index_of_extreme_kernel(bool smallest, Rows rows, Array x, Array y) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = warp_index();
  if (i >= rows.starts.count) return;
  const std::int64_t index = index_of_extreme(Row<Number>{rows, x, rows.starts.at(i).of[0]}, smallest);
  if (lane_index() == 0) store(y, i, index);
}

__global__ void logsumexp_kernel(Rows rows, Array x, Array y) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = warp_index();
  if (i >= rows.starts.count) return;
  const double result = logsumexp({rows, x, rows.starts.at(i).of[0]});
  if (lane_index() == 0) store(y, i, result);
}

struct CumulatePlan {
  bool product, reverse, exclusive;
  Rows rows;
  Array x, y;
};

/// Cumulative sums or products along rows, 32 elements at a time, as a prefix scan over lanes.
template <typename Number>
__global__ void cumulate_kernel(CumulatePlan plan) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t row = warp_index();
  if (row >= plan.rows.starts.count) return;
  const std::int64_t start = plan.rows.starts.at(row).of[0], count = plan.rows.along.count;
  const int lane = lane_index();
  const ReduceFn fn = plan.product ? ReduceFn::prod : ReduceFn::sum;

  Number before = neutral<Number>(fn);
  for (std::int64_t first = 0; first < count; first += kWarpThreads) {
    const std::int64_t j = first + lane;
    const bool inside = j < count;
    const std::int64_t at = inside ? start + plan.rows.along.at(plan.reverse ? count - 1 - j : j).of[0] : 0;
    Number running = inside ? load<Number>(plan.x, at) : neutral<Number>(fn);
    for (int distance = 1; distance < kWarpThreads; distance *= 2) {
      const Number left = __shfl_sync(kWholeWarp, running, (lane - distance) & (kWarpThreads - 1));
      if (lane >= distance) running = combine(fn, left, running);
    }
    const Number previous = __shfl_sync(kWholeWarp, running, (lane - 1) & (kWarpThreads - 1));
    const Number own = !plan.exclusive ? running : lane == 0 ? neutral<Number>(fn) : previous;
    if (inside) store(plan.y, at, combine(fn, before, own));
    before = __shfl_sync(kWholeWarp, combine(fn, before, running), kWarpThreads - 1);
  }
}

/// Returns the dtype of sums. Floats are summed in double, because lanes add in another order than a loop, and must not
/// overflow if a loop does not.
DType summed_in(DType dtype) { return is_integer(dtype) ? dtype : DType::float64; }

}  // namespace

Choice make_plain(const graph::Reduce& op, const Step& step) {
  const auto rows = rows_of(step.inputs[0].shape, op.axes);
  if (!rows) return too_many_axes();
  return {"plain",
          [fn = op.fn, rows = *rows, x = array_of(step.inputs[0]), y = array_of(step.outputs[0])](cudaStream_t stream) {
            const LaunchShape shape = warp_each(rows.starts.count);
            if (fn == ReduceFn::logsumexp) return check(launch(logsumexp_kernel, shape, stream, rows, x, y), "reduce");
            with_number_of(summed_in(x.dtype), [&](auto zero) {
              using Number = decltype(zero);
              if (fn == ReduceFn::argmax || fn == ReduceFn::argmin) {
                const bool smallest = fn == ReduceFn::argmin;
                check(launch(index_of_extreme_kernel<Number>, shape, stream, smallest, rows, x, y), "reduce");
              } else {
                check(launch(reduce_kernel<Number>, shape, stream, fn, rows, x, y), "reduce");
              }
            });
          }};
}

Choice make_plain(const graph::Cumulate& op, const Step& step) {
  const int axis[] = {op.axis};
  const auto rows = rows_of(step.inputs[0].shape, axis);
  if (!rows) return too_many_axes();
  const CumulatePlan plan{
      op.product, op.reverse, op.exclusive, *rows, array_of(step.inputs[0]), array_of(step.outputs[0])};
  return {"plain", [plan](cudaStream_t stream) {
            const LaunchShape shape = warp_each(plan.rows.starts.count);
            with_ring_of(summed_in(plan.x.dtype), [&](auto zero) {
              check(launch(cumulate_kernel<decltype(zero)>, shape, stream, plan), "cumulate");
            });
          }};
}

}  // namespace attn::cuda
