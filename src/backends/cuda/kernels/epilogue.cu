// x = activation(x + bias) + residual, in place.
#include <cstdint>

#include "device.h"
#include "epilogue.h"
#include "hot.h"
#include "number.h"
#include "pack.h"
#include "threads.h"
#include "walk.h"

namespace attn::cuda {
namespace {

template <typename T, int kCount>
__global__ void __launch_bounds__(kBlockThreads)
    hot_epilogue_kernel(Function<float> f, T* x, const T* bias, const T* residual, std::int64_t count,
                        std::int64_t columns) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t first = thread_index() * kCount;
  if (first >= count) return;
  float numbers[kCount], others[kCount];
  load_pack(x + first, numbers);
  if (bias != nullptr) {
    // A 32-bit division needs a fraction of the time of a 64-bit one.
    const auto column = count <= 0xFFFFFFFF ? static_cast<std::uint32_t>(first) % static_cast<std::uint32_t>(columns)
                                            : divide(first, columns).remainder;
    load_pack(bias + column, others);
#pragma unroll
    for (int j = 0; j < kCount; ++j) numbers[j] += others[j];
  }
  apply_hot<T>(f, numbers);
  if (residual != nullptr) {
    load_pack(residual + first, others);
#pragma unroll
    for (int j = 0; j < kCount; ++j) numbers[j] += others[j];
  }
  store_pack(x + first, numbers);
}

template <typename Number>
__global__ void epilogue_kernel(Function<Number> f, Array x, Array bias, Array residual, std::int64_t count,
                                std::int64_t columns) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= count) return;
  Number number = load<Number>(x, i);
  if (bias.data != nullptr) number += load<Number>(bias, divide(i, columns).remainder);
  number = apply(f, number);
  if (residual.data != nullptr) number += load<Number>(residual, i);
  store(x, i, number);
}

}  // namespace

void launch_epilogue(const EpilogueStep& step, cudaStream_t stream) {
  const std::int64_t count = step.rows * step.columns, columns = step.columns;
  if (!is_packable(step.dtype) || !is_hot(step.activation.fn)) {
    const auto array = [&](const std::byte* data) { return Array{const_cast<std::byte*>(data), step.dtype}; };
    with_float_of(step.dtype, [&](auto zero) {
      using Number = decltype(zero);
      check(launch(epilogue_kernel<Number>, thread_each(count), stream, function_of<Number>(step.activation),
                   array(step.x), array(step.bias), array(step.residual), count, columns),
            "epilogue");
    });
    return;
  }
  with_stored(step.dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kCount = kPack<T>;
    auto* const x = reinterpret_cast<T*>(step.x);
    const auto* const bias = reinterpret_cast<const T*>(step.bias);
    const auto* const residual = reinterpret_cast<const T*>(step.residual);
    const auto f = function_of<float>(step.activation);
    const bool packed = columns % kCount == 0 && is_aligned(x) && is_aligned(bias) && is_aligned(residual);
    const LaunchShape shape = thread_each(packed ? count / kCount : count);
    if (packed) {
      check(launch(hot_epilogue_kernel<T, kCount>, shape, stream, f, x, bias, residual, count, columns), "epilogue");
    } else {
      check(launch(hot_epilogue_kernel<T, 1>, shape, stream, f, x, bias, residual, count, columns), "epilogue");
    }
  });
}

}  // namespace attn::cuda
