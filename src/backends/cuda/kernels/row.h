// Rows of numbers in the registers of the threads that share them: one warp or one block per row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attn/graph/op.h"
#include "device.h"
#include "pack.h"
#include "simt.h"
#include "threads.h"

namespace attn::cuda {

inline constexpr int kMaxRowThreads = 512;
inline constexpr int kManyNumbers = 32;
inline constexpr int kRowWarps = 4;  ///< rows per block if each has a warp

/// The assignment of threads to rows of `columns` numbers.
struct RowLayout {
  std::int64_t rows = 0, columns = 0;
  int threads = kWarpThreads;  ///< threads per row
  int numbers = 8;             ///< numbers per thread: 8, kManyNumbers, or 0 if registers cannot hold a row
  bool packed = false;         ///< whether 16 bytes are moved at once; otherwise one number

  [[nodiscard]] LaunchShape launch_shape() const {
    const bool warps = threads == kWarpThreads;
    const std::int64_t blocks = warps ? (rows + kRowWarps - 1) / kRowWarps : rows;
    return {.grid = dim3(static_cast<unsigned>(blocks)),
            .block = dim3(static_cast<unsigned>(warps ? kRowWarps * kWarpThreads : threads)),
            .shared_bytes = kMaxRowThreads / kWarpThreads * sizeof(float)};
  }
};

/// Selects the layout. Few rows finish soonest if many threads share each row; with many rows, one warp per row keeps
/// the GPU busy.
[[nodiscard]] inline RowLayout row_layout(std::int64_t rows, std::int64_t columns, bool packed, const Device& device) {
  RowLayout layout{rows, columns};
  layout.packed = packed;
  layout.numbers = rows < 16 * std::int64_t{device.processors()} ? 8 : kManyNumbers;
  const auto threads_for = [&](int numbers) { return (columns + numbers - 1) / numbers; };
  if (threads_for(layout.numbers) > kMaxRowThreads) layout.numbers = kManyNumbers;
  if (threads_for(layout.numbers) > kMaxRowThreads) layout.numbers = 0;
  const std::int64_t wanted = layout.numbers == 0 ? kMaxRowThreads : threads_for(layout.numbers);
  layout.threads = static_cast<int>((wanted + kWarpThreads - 1) / kWarpThreads) * kWarpThreads;
  return layout;
}

/// The position of the running thread.
struct RowPlace {
  std::int64_t row = 0;
  int thread = 0, threads = 0;  ///< index among the threads that share the row, and their number
};
[[nodiscard]] __device__ __forceinline__ RowPlace row_place(const RowLayout& layout) {
  const auto thread = static_cast<int>(threadIdx.x);
  if (layout.threads > kWarpThreads) return {static_cast<std::int64_t>(blockIdx.x), thread, layout.threads};
  return {static_cast<std::int64_t>(blockIdx.x) * kRowWarps + thread / kWarpThreads, thread % kWarpThreads,
          kWarpThreads};
}

/// Reduces the values of all threads of the row with `combine`. Every thread must call it, and gets the result.
template <typename Combine>
[[nodiscard]] __device__ __forceinline__ float over_row(const RowPlace& place, float value, Combine combine) {
  value = over_warp(value, combine);
  if (place.threads == kWarpThreads) return value;
  float* const of_warps = shared_memory<float>();
  if (place.thread % kWarpThreads == 0) of_warps[place.thread / kWarpThreads] = value;
  __syncthreads();
  float result = of_warps[0];
  for (int warp = 1; warp < place.threads / kWarpThreads; ++warp) result = combine(result, of_warps[warp]);
  __syncthreads();  // the next call writes to the same memory
  return result;
}
[[nodiscard]] __device__ __forceinline__ float row_sum(const RowPlace& place, float value) {
  return over_row(place, value, [](float x, float y) { return x + y; });
}
/// Returns the maximum of the row; NaN is ignored if there is a number.
[[nodiscard]] __device__ __forceinline__ float row_max(const RowPlace& place, float value) {
  return over_row(place, value, [](float x, float y) { return y > x ? y : x; });
}

/// The parameters of normalization: (x − shift)·inverse.
struct Statistics {
  float shift, inverse;
};
[[nodiscard]] __device__ __forceinline__ Statistics statistics(graph::NormKind kind, float mean, float spread,
                                                               float epsilon) {
  return {kind == graph::NormKind::layer ? mean : 0.0F, 1.0F / std::sqrt(spread + epsilon)};
}

/// The numbers of a row that one thread holds: packs of kVector, interleaved among threads.
template <int kVector, int kPacks>
struct Held {
  float numbers[kPacks][kVector] = {};

  /// Calls f(numbers of a pack, its first column) for the packs inside the row.
  template <typename Function>
  __device__ __forceinline__ void each(const RowPlace& place, int columns, Function f) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int column = (p * place.threads + place.thread) * kVector;
      if (column < columns) f(numbers[p], column);
    }
  }
};

/// Calls f.template operator()<kVector, kPacks>(): the size of a vector, and the number of vectors that a thread holds
/// in this layout. `layout.numbers` is not 0.
template <typename T, typename Function>
void with_held(const RowLayout& layout, Function f) {
  constexpr int kVector = kPack<T>;
  if (layout.packed) {
    if (layout.numbers == 8) return f.template operator()<kVector, 8 / kVector>();
    return f.template operator()<kVector, kManyNumbers / kVector>();
  }
  if (layout.numbers == 8) return f.template operator()<1, 8>();
  f.template operator()<1, kManyNumbers>();
}

}  // namespace attn::cuda
