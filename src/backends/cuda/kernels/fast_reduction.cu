// Reductions over adjacent axes, seen as x (outer, reduced, inner). Sums are accumulated in float.
#include <cmath>
#include <limits>
#include <optional>

#include "device.h"
#include "fast.h"
#include "row.h"
#include "walk.h"

namespace attn::cuda {
namespace {

using graph::ReduceFn;

__device__ __forceinline__ float combine(ReduceFn fn, float x, float y) {
  switch (fn) {
    case ReduceFn::max:  // NaN if any is NaN
      return x != x || !(y != y || y > x) ? x : y;
    case ReduceFn::min:
      return x != x || !(y != y || y < x) ? x : y;
    default:
      return x + y;
  }
}

__device__ __forceinline__ float first_of(ReduceFn fn) {
  const float infinity = std::numeric_limits<float>::infinity();
  return fn == ReduceFn::max ? -infinity : fn == ReduceFn::min ? infinity : 0.0F;
}

/// x (rows, columns) → y (rows): a warp or a block for each row.
template <typename T, int kVector>
__global__ void __launch_bounds__(kMaxRowThreads) rows_kernel(RowLayout layout, ReduceFn fn, const T* x, T* y) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const RowPlace place = row_place(layout);
  if (place.row >= layout.rows) return;
  const T* const row = x + place.row * layout.columns;
  float result = first_of(fn);
  for (std::int64_t column = place.thread * kVector; column < layout.columns; column += place.threads * kVector) {
    float numbers[kVector];
    load_pack(row + column, numbers);
#pragma unroll
    for (int j = 0; j < kVector; ++j) result = combine(fn, result, numbers[j]);
  }
  result = over_row(place, result, [fn](float a, float b) { return combine(fn, a, b); });
  if (fn == ReduceFn::mean) result /= static_cast<float>(layout.columns);
  if (place.thread == 0) y[place.row] = from_float<T>(result);
}

constexpr int kParts = 8;  ///< slices of the reduced axis; each warp of a block has one

/// Reduces x (outer, reduced, inner) to y (outer, inner). Each lane computes an element of the result, and each warp a
/// slice of the sum.
template <typename T>
__global__ void __launch_bounds__(kParts* kWarpThreads)
    columns_kernel(ReduceFn fn, const T* x, T* y, std::int64_t reduced, std::int64_t inner, std::int64_t blocks) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Divided place = divide(blockIdx.x, blocks);  // consecutive blocks cover the inner axis
  const int lane = lane_index(), part = static_cast<int>(threadIdx.x) / kWarpThreads;
  const std::int64_t i = place.remainder * kWarpThreads + lane;
  float result = first_of(fn);
  if (i < inner) {
    const T* const column = x + place.quotient * reduced * inner + i;
    for (std::int64_t k = part; k < reduced; k += kParts) result = combine(fn, result, to_float(column[k * inner]));
  }
  float* const of_parts = shared_memory<float>();
  of_parts[part * kWarpThreads + lane] = result;
  __syncthreads();
  if (part != 0 || i >= inner) return;
  for (int other = 1; other < kParts; ++other) result = combine(fn, result, of_parts[other * kWarpThreads + lane]);
  if (fn == ReduceFn::mean) result /= static_cast<float>(reduced);
  y[place.quotient * inner + i] = from_float<T>(result);
}

bool is_fast(ReduceFn fn) {
  return fn == ReduceFn::sum || fn == ReduceFn::mean || fn == ReduceFn::max || fn == ReduceFn::min;
}

}  // namespace

Choice make_fast(const graph::Reduce& op, const Step& step) {
  const Operand &x = step.inputs[0], &y = step.outputs[0];
  if (!is_packable(x.dtype)) return Choice("fast reduction: not float32, float16 or bfloat16");
  if (!is_fast(op.fn)) return Choice("fast reduction: not sum, mean, max or min");
  if (op.axes.empty()) return Choice("fast reduction: no axes");
  const int first = op.axes.front(), last = op.axes.back();
  if (last - first + 1 != static_cast<int>(op.axes.size())) return Choice("fast reduction: axes between its axes");
  const std::int64_t outer = x.shape.slice(0, first).size();
  const std::int64_t reduced = x.shape.slice(first, last + 1).size();
  const std::int64_t inner = x.shape.slice(last + 1, x.shape.rank()).size();
  if (inner == 1) {
    return {"rows",
            [=, fn = op.fn, from = x.data, to = y.data, dtype = x.dtype, &device = step.device](cudaStream_t stream) {
              with_stored(dtype, [&](auto zero) {
                using T = decltype(zero);
                const bool packed = reduced % kPack<T> == 0 && is_aligned(from);
                const RowLayout layout = row_layout(outer, reduced, packed, device);
                const auto* const in = reinterpret_cast<const T*>(from);
                auto* const out = reinterpret_cast<T*>(to);
                const LaunchShape shape = layout.launch_shape();
                if (packed) {
                  check(launch(rows_kernel<T, kPack<T>>, shape, stream, layout, fn, in, out), "reduce");
                } else {
                  check(launch(rows_kernel<T, 1>, shape, stream, layout, fn, in, out), "reduce");
                }
              });
            }};
  }
  const std::int64_t blocks = (inner + kWarpThreads - 1) / kWarpThreads;
  return {"columns", [=, fn = op.fn, from = x.data, to = y.data, dtype = x.dtype](cudaStream_t stream) {
            with_stored(dtype, [&](auto zero) {
              using T = decltype(zero);
              const LaunchShape shape{.grid = dim3(static_cast<unsigned>(outer * blocks)),
                                      .block = dim3(kParts * kWarpThreads),
                                      .shared_bytes = kParts * kWarpThreads * sizeof(float)};
              check(launch(columns_kernel<T>, shape, stream, fn, reinterpret_cast<const T*>(from),
                           reinterpret_cast<T*>(to), reduced, inner, blocks),
                    "reduce");
            });
          }};
}

}  // namespace attn::cuda
