// Thread indexing and warp reductions. Grids extend only along x.
#pragma once

#include <cstdint>

#include "simt.h"

namespace attn::cuda {

inline constexpr int kBlockThreads = 256;
inline constexpr int kWarpThreads = 32;
inline constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

/// Returns a launch of one thread for each of `count` > 0 items, indexed by thread_index(). The last block has surplus
/// threads.
[[nodiscard]] inline LaunchShape thread_each(std::int64_t count) {
  const std::int64_t blocks = (count + kBlockThreads - 1) / kBlockThreads;
  return {.grid = dim3(static_cast<unsigned>(blocks)), .block = dim3(kBlockThreads)};
}
/// Returns a launch of one warp for each of `count` > 0 items, indexed by warp_index().
[[nodiscard]] inline LaunchShape warp_each(std::int64_t count) { return thread_each(count * kWarpThreads); }

[[nodiscard]] __device__ __forceinline__ std::int64_t thread_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
[[nodiscard]] __device__ __forceinline__ std::int64_t warp_index() { return thread_index() / kWarpThreads; }
[[nodiscard]] __device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x % kWarpThreads); }

/// Reduces the values of all lanes with `combine`, which must be commutative and associative; every lane gets the
/// result.
template <typename T, typename Combine>
[[nodiscard]] __device__ __forceinline__ T over_warp(T value, Combine combine) {
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(kWholeWarp, value, distance));
  }
  return value;
}

template <typename T>
[[nodiscard]] __device__ __forceinline__ T warp_sum(T value) {
  return over_warp(value, [](T x, T y) { return static_cast<T>(x + y); });
}
/// Returns the maximum over all lanes; NaN is ignored if there is a number.
template <typename T>
[[nodiscard]] __device__ __forceinline__ T warp_max(T value) {
  return over_warp(value, [](T x, T y) { return y > x ? y : x; });
}

}  // namespace attn::cuda
