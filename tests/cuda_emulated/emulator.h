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
  unsigned cluster = 1;  ///< blocks of a cluster, along x
};

/// Runs every block of a kernel, one cluster after the other. Throws std::runtime_error where threads wait for each
/// other for ever, and where a thread ends without having waited for the kernel ahead.
void run(const Shape& shape, const std::function<void()>& kernel);

/// Runs a kernel, or records it where the stream is capturing. Errors as CUDA reports a bad launch.
cudaError_t enqueue(const Shape& shape, cudaStream_t stream, std::function<void()> kernel);

/// The largest cluster that the emulated machine has room for.
[[nodiscard]] unsigned machine_cluster();

/// What a running thread knows about itself.
struct Thread {
  uint3 index{}, block{};
  dim3 block_dim, grid_dim;
  int linear = 0;     ///< its number in the block; 32 make a warp
  unsigned rank = 0;  ///< of its block in the cluster
};
namespace detail {
extern const Thread* current;
}
[[nodiscard]] inline const Thread& self() { return *detail::current; }
[[nodiscard]] std::byte* shared_memory();

/// A meeting of `count` threads of the block under the number `id`; each returns when all have come. Ids below 16 are
/// the named barriers of the hardware; higher ones are for warps and warpgroups.
void meet(int id, int count);
/// Counts at a barrier without waiting.
void arrive(int id, int count);
/// The barrier of the whole block, which tells each thread whether any has come with a nonzero number.
[[nodiscard]] int any_of_block(int predicate);
/// A meeting of all threads of the cluster, none of which has ended.
void meet_cluster();
/// What lies in block `rank` of the cluster where `here` lies in this one. A block that has ended has lost it.
[[nodiscard]] std::byte* of_block(const void* here, unsigned rank);
/// The running thread has waited for the kernel ahead.
void has_waited();
/// Lets the others go on; called in loops that wait for memory to change.
void yield();
/// Waits, without spinning, until a word of memory is no longer `value`.
void wait_while(const std::uint64_t& word, std::uint64_t value);
/// Says that memory others may wait for has changed.
void progress();

/// Waits until the whole warp has come. The last to come gets what each has brought, in their order, and the others
/// wait until it calls part_warp(); they get nothing.
[[nodiscard]] std::span<void* const> gather_warp(void* mine);
void part_warp();

/// A meeting of a warp at which the last to come works for all, on what each has brought.
template <typename Brought, typename Work>
void together(Brought& mine, Work work) {
  const std::span<void* const> all = gather_warp(&mine);
  if (all.empty()) return;
  std::array<Brought*, 32> brought{};
  for (std::size_t lane = 0; lane < 32; ++lane) brought[lane] = static_cast<Brought*>(all[lane]);
  work(brought);
  part_warp();
}

/// What lane `lane` of this warp brought to the same call.
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

/// Work that hardware does in the background: now, or when no thread can go on without it. Which of the two, and in
/// what order, differs between blocks and between launches, as does the order in which threads run.
void in_background(std::function<void()> work);
/// Whether this cluster is one whose background work is done at once.
[[nodiscard]] bool is_eager();
/// The number of the cluster that runs, or has run last, over all launches.
[[nodiscard]] std::uint64_t cluster_number();
/// Blocks of that cluster.
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
/// Whether any thread of the block has come with a nonzero number.
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
