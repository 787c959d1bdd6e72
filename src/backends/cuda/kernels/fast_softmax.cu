// Softmax and log-softmax over the last axis. A row is read once and kept in registers.
#include <cmath>
#include <limits>

#include "device.h"
#include "fast.h"
#include "row.h"

namespace attn::cuda {
namespace {

template <typename T, int kVector, int kPacks>
__global__ void __launch_bounds__(kMaxRowThreads) softmax_kernel(RowLayout layout, bool logarithm, const T* x, T* y) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const RowPlace place = row_place(layout);
  if (place.row >= layout.rows) return;
  const std::int64_t start = place.row * layout.columns;

  const auto held = static_cast<int>(layout.columns);
  Held<kVector, kPacks> row;
  float maximum = -std::numeric_limits<float>::infinity();
  row.each(place, held, [&](float(&numbers)[kVector], int column) {
    load_pack(x + start + column, numbers);
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      if (numbers[j] > maximum) maximum = numbers[j];
    }
  });
  maximum = row_max(place, maximum);
  float sum = 0.0F;
  row.each(place, held, [&](float(&numbers)[kVector], int) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      numbers[j] -= maximum;
      const float power = std::exp(numbers[j]);
      sum += power;
      if (!logarithm) numbers[j] = power;
    }
  });
  sum = row_sum(place, sum);
  const float log_sum = logarithm ? std::log(sum) : 0.0F;
  row.each(place, held, [&](float(&numbers)[kVector], int column) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) numbers[j] = logarithm ? numbers[j] - log_sum : numbers[j] / sum;
    store_pack(y + start + column, numbers);
  });
}

/// Reads rows that exceed the registers three times, mostly from the cache, with one block per row.
template <typename T>
__global__ void __launch_bounds__(kMaxRowThreads)
    long_softmax_kernel(RowLayout layout, bool logarithm, const T* x, T* y) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const RowPlace place = row_place(layout);
  const std::int64_t start = place.row * layout.columns;
  float maximum = -std::numeric_limits<float>::infinity();
  for (std::int64_t column = place.thread; column < layout.columns; column += place.threads) {
    const float number = to_float(x[start + column]);
    if (number > maximum) maximum = number;
  }
  maximum = row_max(place, maximum);
  float sum = 0.0F;
  for (std::int64_t column = place.thread; column < layout.columns; column += place.threads) {
    sum += std::exp(to_float(x[start + column]) - maximum);
  }
  sum = row_sum(place, sum);
  const float log_sum = logarithm ? std::log(sum) : 0.0F;
  for (std::int64_t column = place.thread; column < layout.columns; column += place.threads) {
    const float shifted = to_float(x[start + column]) - maximum;
    y[start + column] = from_float<T>(logarithm ? shifted - log_sum : std::exp(shifted) / sum);
  }
}

}  // namespace

Choice make_fast(const graph::Softmax& op, const Step& step) {
  const Operand &x = step.inputs[0], &y = step.outputs[0];
  if (!is_packable(x.dtype)) return Choice("softmax in registers: not float32, float16 or bfloat16");
  if (op.kind == graph::SoftmaxKind::sparsemax) return Choice("softmax in registers: not of sparsemax");
  if (op.axes.size() != 1 || op.axes[0] != x.shape.rank() - 1) {
    return Choice("softmax in registers: not over the last axis");
  }
  const bool logarithm = op.kind == graph::SoftmaxKind::log_softmax;
  const std::int64_t columns = x.shape.back(), rows = x.size() / columns;
  return {"rows in registers",
          [=, from = x.data, to = y.data, dtype = x.dtype, &device = step.device](cudaStream_t stream) {
            with_stored(dtype, [&](auto zero) {
              using T = decltype(zero);
              const bool packed = columns % kPack<T> == 0 && is_aligned(from) && is_aligned(to);
              const RowLayout layout = row_layout(rows, columns, packed, device);
              const LaunchShape shape = layout.launch_shape();
              const auto* const in = reinterpret_cast<const T*>(from);
              auto* const out = reinterpret_cast<T*>(to);
              if (layout.numbers == 0) {
                check(launch(long_softmax_kernel<T>, shape, stream, layout, logarithm, in, out), "softmax");
                return;
              }
              with_held<T>(layout, [&]<int kVector, int kPacks>() {
                check(launch(softmax_kernel<T, kVector, kPacks>, shape, stream, layout, logarithm, in, out), "softmax");
              });
            });
          }};
}

}  // namespace attn::cuda
