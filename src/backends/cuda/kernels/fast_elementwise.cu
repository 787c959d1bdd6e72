// Unary and binary functions, 16 bytes at a time.
#include <string>
#include <type_traits>

#include "device.h"
#include "fast.h"
#include "hot.h"
#include "pack.h"
#include "threads.h"
#include "walk.h"

namespace attn::cuda {
namespace {

using graph::BinaryFn;

std::int64_t packs_of(std::int64_t count, int pack) { return (count + pack - 1) / pack; }

/// Computes y = f(x) from x's type to y's. The last thread handles a partial pack if packs do not divide `count`.
template <typename From, typename To, int kCount>
__global__ void __launch_bounds__(kBlockThreads)
    unary_kernel(Function<float> f, const From* x, To* y, std::int64_t count) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t first = thread_index() * kCount;
  if (first >= count) return;
  if constexpr (kCount > 1) {
    if (first + kCount > count) {
#pragma unroll 1
      for (std::int64_t i = first; i < count; ++i) {
        float number[1] = {to_float(x[i])};
        apply_hot<To>(f, number);
        y[i] = from_float<To>(number[0]);
      }
      return;
    }
  }
  float numbers[kCount];
  load_pack(x + first, numbers);
  apply_hot<To>(f, numbers);
  store_pack(y + first, numbers);
}

template <typename From, typename To>
void launch_unary(const Function<float>& f, const std::byte* x, std::byte* y, std::int64_t count, cudaStream_t stream) {
  // The pack size fills 16 bytes on the wider side.
  constexpr int kCount = kPack<From> < kPack<To> ? kPack<From> : kPack<To>;
  const auto* const from = reinterpret_cast<const From*>(x);
  auto* const to = reinterpret_cast<To*>(y);
  if (is_aligned(x) && is_aligned(y)) {
    const LaunchShape shape = thread_each(packs_of(count, kCount));
    check(launch(unary_kernel<From, To, kCount>, shape, stream, f, from, to, count), "unary");
  } else {
    check(launch(unary_kernel<From, To, 1>, thread_each(count), stream, f, from, to, count), "unary");
  }
}

/// An operand of a binary operation. Element i of the result uses the operand's element i mod period.
template <typename T>
struct Side {
  const T* numbers;
  std::int64_t period;

  /// Loads kCount elements from i on. The period is 1, the whole array, or a multiple of kCount.
  template <int kCount>
  __device__ __forceinline__ void load(std::int64_t i, std::int64_t count, float (&to)[kCount]) const {
    if (period == 1) {
      const float number = to_float(numbers[0]);
#pragma unroll
      for (int j = 0; j < kCount; ++j) to[j] = number;
    } else {
      load_pack(numbers + (period == count ? i : divide(i, period).remainder), to);
    }
  }
};

template <int kCount>
__device__ __forceinline__ void combine(BinaryFn fn, const float (&x)[kCount], const float (&y)[kCount],
                                        float (&z)[kCount]) {
  const auto each = [&](auto function) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) z[j] = function(x[j], y[j]);
  };
  switch (fn) {
    case BinaryFn::subtract:
      return each([](float a, float b) { return a - b; });
    case BinaryFn::multiply:
      return each([](float a, float b) { return a * b; });
    case BinaryFn::divide:
      return each([](float a, float b) { return a / b; });
    case BinaryFn::maximum:  // NaN if either is NaN
      return each([](float a, float b) { return a != a || a > b ? a : b; });
    case BinaryFn::minimum:
      return each([](float a, float b) { return a != a || a < b ? a : b; });
    default:
      return each([](float a, float b) { return a + b; });
  }
}

bool is_fast(BinaryFn fn) {
  return fn == BinaryFn::add || fn == BinaryFn::subtract || fn == BinaryFn::multiply || fn == BinaryFn::divide ||
         fn == BinaryFn::maximum || fn == BinaryFn::minimum;
}

template <typename T, int kCount>
__global__ void __launch_bounds__(kBlockThreads)
    binary_kernel(BinaryFn fn, Side<T> x, Side<T> y, T* z, std::int64_t count) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t first = thread_index() * kCount;
  if (first >= count) return;
  if constexpr (kCount > 1) {
    if (first + kCount > count) {
#pragma unroll 1
      for (std::int64_t i = first; i < count; ++i) {
        float left[1], right[1], result[1];
        x.load(i, count, left);
        y.load(i, count, right);
        combine(fn, left, right, result);
        z[i] = from_float<T>(result[0]);
      }
      return;
    }
  }
  float left[kCount], right[kCount], result[kCount];
  x.load(first, count, left);
  y.load(first, count, right);
  combine(fn, left, right, result);
  store_pack(z + first, result);
}

/// Returns the period of an operand whose shape is a suffix of the result's shape; 0 if it is not.
std::int64_t period_of(const Shape& side, const Shape& result) {
  const std::int64_t size = side.size();
  int axis = side.rank() - 1, last = result.rank() - 1;
  std::int64_t covered = 1;
  for (; axis >= 0 && side[axis] == result[last]; --axis, --last) covered *= side[axis];
  return covered == size ? size : 0;
}

}  // namespace

Choice make_fast(const graph::Unary& op, const Step& step) {
  const Operand &x = step.inputs[0], &y = step.outputs[0];
  if (!is_packable(x.dtype)) return Choice("vector unary: not float32, float16 or bfloat16");
  if (!is_hot(op.fn)) return Choice("vector unary: not one of its functions");
  const auto f = function_of<float>(op);
  return {"vector", [=, from = x.data, to = y.data, dtype = x.dtype, count = y.size()](cudaStream_t stream) {
            with_stored(dtype, [&](auto zero) {
              using T = decltype(zero);
              launch_unary<T, T>(f, from, to, count, stream);
            });
          }};
}

Choice make_fast(const graph::Cast&, const Step& step) {
  const Operand &x = step.inputs[0], &y = step.outputs[0];
  if (!is_packable(x.dtype) || !is_packable(y.dtype)) return Choice("vector cast: not float32, float16 or bfloat16");
  return {"vector",
          [from = x.data, to = y.data, x_dtype = x.dtype, y_dtype = y.dtype, count = y.size()](cudaStream_t stream) {
            with_stored(x_dtype, [&](auto x_zero) {
              with_stored(y_dtype, [&](auto y_zero) {
                launch_unary<decltype(x_zero), decltype(y_zero)>({}, from, to, count, stream);
              });
            });
          }};
}

Choice make_fast(const graph::Binary& op, const Step& step) {
  const Operand &x = step.inputs[0], &y = step.inputs[1], &z = step.outputs[0];
  if (!is_packable(x.dtype)) return Choice("vector binary: not float32, float16 or bfloat16");
  if (!is_fast(op.fn)) return Choice("vector binary: not one of its functions");
  const std::int64_t x_period = period_of(x.shape, z.shape), y_period = period_of(y.shape, z.shape);
  if (x_period == 0 || y_period == 0) return Choice("vector binary: repeats other than of the last axes");
  return {"vector", [=, fn = op.fn, x_data = x.data, y_data = y.data, z_data = z.data, dtype = x.dtype,
                     count = z.size()](cudaStream_t stream) {
            with_stored(dtype, [&](auto zero) {
              using T = decltype(zero);
              constexpr int kCount = kPack<T>;
              const auto packs = [&](std::int64_t period, const void* data) {
                return period == 1 || (is_aligned(data) && (period == count || period % kCount == 0));
              };
              const Side<T> left{reinterpret_cast<const T*>(x_data), x_period};
              const Side<T> right{reinterpret_cast<const T*>(y_data), y_period};
              auto* const result = reinterpret_cast<T*>(z_data);
              if (packs(x_period, x_data) && packs(y_period, y_data) && is_aligned(z_data)) {
                const LaunchShape shape = thread_each(packs_of(count, kCount));
                check(launch(binary_kernel<T, kCount>, shape, stream, fn, left, right, result, count), "binary");
              } else {
                const LaunchShape shape = thread_each(count);
                check(launch(binary_kernel<T, 1>, shape, stream, fn, left, right, result, count), "binary");
              }
            });
          }};
}

}  // namespace attn::cuda
