// Runs CUDA kernels on the CPU: the threads of a block are fibers that take turns, and collective operations of threads
// (barriers, shuffles, matrix instructions) are rendezvous of fibers. For tests: it finds wrong indices, missing
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
  unsigned cluster = 1;  ///< blocks of a cluster, along x
};

/// Runs every block of a kernel, one cluster after the other. Throws std::runtime_error on a deadlock, and if a thread
/// ends without having waited for the previous kernel.
void run(const Shape& shape, const std::function<void()>& kernel);

/// Runs a kernel, or records it if the stream is capturing. Returns CUDA's error for an invalid launch.
cudaError_t enqueue(const Shape& shape, cudaStream_t stream, std::function<void()> kernel);

/// The largest cluster that the emulated machine supports.
[[nodiscard]] unsigned machine_cluster();

/// The built-in variables of a thread.
struct Thread {
  uint3 index{}, block{};
  dim3 block_dim, grid_dim;
  int linear = 0;     ///< its number in the block; 32 make a warp
  unsigned rank = 0;  ///< rank of its block in the cluster
};
namespace detail {
extern const Thread* current;
}
[[nodiscard]] inline const Thread& self() { return *detail::current; }
[[nodiscard]] std::byte* shared_memory();

/// A barrier of `count` threads of the block under the number `id`; each returns when all have arrived. Ids below 16
/// are the hardware's named barriers; higher ones are for warps and warpgroups.
void meet(int id, int count);
/// Arrives at a barrier without waiting.
void arrive(int id, int count);
/// The barrier of the whole block, which returns to each thread whether any arrived with a nonzero number.
[[nodiscard]] int any_of_block(int predicate);
/// A barrier of all threads of the cluster, none of which has ended.
void meet_cluster();
/// The address in block `rank` of the cluster that corresponds to `here` in this one. Invalid for a block that has
/// ended.
[[nodiscard]] std::byte* of_block(const void* here, unsigned rank);
/// Records that the running thread has waited for the previous kernel.
void has_waited();
/// Lets the other threads run; called in loops that wait for memory to change.
void yield();
/// Waits, without spinning, until a word of memory is no longer `value`.
void wait_while(const std::uint64_t& word, std::uint64_t value);
/// Signals a change of memory that others may wait for.
void progress();

/// Waits for the whole warp. The last thread to arrive gets every thread's argument, in lane order; the others get
/// nothing and wait until it calls part_warp().
[[nodiscard]] std::span<void* const> gather_warp(void* mine);
void part_warp();

/// A rendezvous of a warp at which the last thread to arrive works for all, on every thread's argument.
template <typename Brought, typename Work>
void together(Brought& mine, Work work) {
  const std::span<void* const> all = gather_warp(&mine);
  if (all.empty()) return;
  std::array<Brought*, 32> brought{};
  for (std::size_t lane = 0; lane < 32; ++lane) brought[lane] = static_cast<Brought*>(all[lane]);
  work(brought);
  part_warp();
}

/// Returns the argument of lane `lane` of this warp to the same call.
template <typename T>
T from_lane(const T& mine, int lane) {
  struct Brought {
    T value;
    int lane;
    T result;
  } brought{mine, lane & 31, mine};
  together(brought, [](std::array<Brought*, 32>& all) {
    for (Brought* one : all) one->result = all[static_cast<std::size_t>(one->lane)]->value;
  });
  return brought.result;
}

/// Runs asynchronous hardware work: at once, or when no thread can continue without it. The choice and the order differ
/// between blocks and between launches, as does the order in which threads run.
void in_background(std::function<void()> work);
/// Whether this cluster runs its background work at once.
[[nodiscard]] bool is_eager();
/// The number of the current or last cluster, over all launches.
[[nodiscard]] std::uint64_t cluster_number();
/// The number of blocks in that cluster.
[[nodiscard]] std::size_t cluster_blocks();

}  // namespace attn::simt

#ifndef __launch_bounds__
#define __launch_bounds__(...)
#endif
#define threadIdx (::attn::simt::self().index)
#define blockIdx (::attn::simt::self().block)
#define blockDim (::attn::simt::self().block_dim)
#define gridDim (::attn::simt::self().grid_dim)

inline void __syncthreads() { attn::simt::meet(0, -1); }
inline void __syncwarp(unsigned = ~0U) {
  int nothing = 0;
  attn::simt::together(nothing, [](auto&) {});
}
/// Whether any thread of the block arrived with a nonzero number.
inline int __syncthreads_or(int predicate) { return attn::simt::any_of_block(predicate); }
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
  struct Brought {
    bool predicate;
    unsigned result;
  } brought{predicate != 0, 0};
  attn::simt::together(brought, [](std::array<Brought*, 32>& all) {
    unsigned result = 0;
    for (unsigned lane = 0; lane < 32; ++lane) result |= static_cast<unsigned>(all[lane]->predicate) << lane;
    for (Brought* one : all) one->result = result;
  });
  return brought.result;
}
inline int __ffs(int bits) { return __builtin_ffs(bits); }
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
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __dadd_rn(double x, double y) { return x + y; }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
