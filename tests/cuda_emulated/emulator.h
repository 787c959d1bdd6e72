// Runs CUDA kernels on the CPU: the threads of a block are fibers that take turns, and what threads do together
// (barriers, shuffles, matrix instructions) is a meeting of fibers. For tests: it finds wrong indices, missing
// barriers, deadlocks and wrong arithmetic, not races that only hardware shows.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <type_traits>

namespace attn::simt {

struct Shape {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
};

/// Runs every block of a kernel, one after the other. Throws std::runtime_error where threads wait for each other for
/// ever.
void run(const Shape& shape, const std::function<void()>& kernel);

/// Runs a kernel, or records it where the stream is capturing. Errors as CUDA reports a bad launch.
cudaError_t enqueue(const Shape& shape, cudaStream_t stream, std::function<void()> kernel);

/// What a running thread knows about itself.
struct Thread {
  uint3 index{}, block{};
  dim3 block_dim, grid_dim;
  int linear = 0;  ///< its number in the block; 32 make a warp
};
[[nodiscard]] const Thread& self();
[[nodiscard]] std::byte* shared_memory();

/// A meeting of `count` threads of the block under the number `id`; each returns when all have come. Ids below 16 are
/// the named barriers of the hardware; higher ones are for warps and warpgroups.
void meet(int id, int count);
/// Counts at a barrier without waiting.
void arrive(int id, int count);
/// Lets the others go on; called in loops that wait for memory to change.
void yield();
/// Waits, without spinning, until a word of memory is no longer `value`.
void wait_while(const std::uint64_t& word, std::uint64_t value);
/// Says that memory others may wait for has changed.
void progress();

/// Gives every thread of a warp (`size` 32) or warpgroup (128) what each has brought, in their order. What is brought
/// must live, and what is given is read, until part(size).
[[nodiscard]] std::span<const std::byte* const> exchange(int size, const void* mine);
void part(int size);

/// What lane `lane` of this warp brought to the same call.
template <typename T>
T from_lane(const T& mine, int lane) {
  const T copy = mine;
  const auto all = exchange(32, &copy);
  T theirs;
  std::memcpy(&theirs, all[static_cast<std::size_t>(lane & 31)], sizeof(T));
  part(32);
  return theirs;
}

}  // namespace attn::simt

#define threadIdx (::attn::simt::self().index)
#define blockIdx (::attn::simt::self().block)
#define blockDim (::attn::simt::self().block_dim)
#define gridDim (::attn::simt::self().grid_dim)

inline void __syncthreads() { attn::simt::meet(0, -1); }
inline void __syncwarp(unsigned = ~0U) { attn::simt::part(32); }
inline void __threadfence() {}

template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return attn::simt::from_lane(value, (attn::simt::self().linear & 31) ^ mask);
}
template <typename T>
T __shfl_sync(unsigned, T value, int lane) {
  return attn::simt::from_lane(value, lane);
}
template <typename T>
T __shfl_down_sync(unsigned, T value, int delta) {
  const int lane = attn::simt::self().linear & 31;
  return attn::simt::from_lane(value, lane + delta > 31 ? lane : lane + delta);
}
inline unsigned __ballot_sync(unsigned, int predicate) {
  unsigned result = 0;
  const int mine = predicate != 0;
  const auto all = attn::simt::exchange(32, &mine);
  for (unsigned lane = 0; lane < 32; ++lane) {
    int theirs = 0;
    std::memcpy(&theirs, all[lane], sizeof(theirs));
    result |= static_cast<unsigned>(theirs) << lane;
  }
  attn::simt::part(32);
  return result;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == ~0U; }

template <typename T>
T __ldg(const T* address) {
  return *address;
}
template <typename T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  const T old = *address;
  *address = static_cast<T>(old + value);
  return old;
}
template <typename T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  const T old = *address;
  *address = old > value ? old : value;
  return old;
}
template <typename T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  const T old = *address;
  if (old == compare) *address = value;
  return old;
}
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
