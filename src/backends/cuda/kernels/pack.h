// Packs of float32, float16 or bfloat16 numbers, moved by one instruction and computed in float.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "attn/base/dtype.h"
#include "simt.h"

namespace attn::cuda {

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(__half x) { return __half2float(x); }
__device__ __forceinline__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename T>
__device__ __forceinline__ T from_float(float x);
template <>
__device__ __forceinline__ float from_float<float>(float x) {
  return x;
}
template <>
__device__ __forceinline__ __half from_float<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

/// A type of `kBytes` bytes, which one load or store moves.
template <int kBytes>
struct Word;
template <>
struct Word<2> {
  using Type = std::uint16_t;
};
template <>
struct Word<4> {
  using Type = std::uint32_t;
};
template <>
struct Word<8> {
  using Type = uint2;
};
template <>
struct Word<16> {
  using Type = uint4;
};

/// The number of elements of T in 16 bytes.
template <typename T>
inline constexpr int kPack = static_cast<int>(16 / sizeof(T));

/// Loads a pack. `from` must be aligned to the size of the pack, at most to 16 bytes.
template <typename T, int kCount>
__device__ __forceinline__ void load_pack(const T* from, float (&to)[kCount]) {
  constexpr int kLoaded = kCount < kPack<T> ? kCount : kPack<T>;
  using Bits = typename Word<kLoaded* static_cast<int>(sizeof(T))>::Type;
#pragma unroll
  for (int first = 0; first < kCount; first += kLoaded) {
    const Bits bits = *reinterpret_cast<const Bits*>(from + first);
    T elements[kLoaded];
    std::memcpy(static_cast<void*>(elements), &bits, sizeof(bits));
#pragma unroll
    for (int j = 0; j < kLoaded; ++j) to[first + j] = to_float(elements[j]);
  }
}

template <typename T, int kCount>
__device__ __forceinline__ void store_pack(T* to, const float (&from)[kCount]) {
  using Bits = typename Word<kCount* static_cast<int>(sizeof(T))>::Type;
  T elements[kCount];
#pragma unroll
  for (int j = 0; j < kCount; ++j) elements[j] = from_float<T>(from[j]);
  Bits bits{};
  std::memcpy(&bits, elements, sizeof(bits));
  *reinterpret_cast<Bits*>(to) = bits;
}

[[nodiscard]] inline bool is_packable(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16;
}

/// Calls f with a zero of the type that stores a packable dtype.
template <typename Function>
void with_stored(DType dtype, Function f) {
  if (dtype == DType::float16) return f(__half{});
  if (dtype == DType::bfloat16) return f(__nv_bfloat16{});
  f(float{});
}

/// Returns whether the address allows 16-byte loads and stores; null counts as aligned.
[[nodiscard]] inline bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

}  // namespace attn::cuda
