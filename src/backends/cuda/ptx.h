// PTX instructions without a form in CUDA C++: one function each, with PTX's meaning. Matrix fragments use the names of
// PTX ISA 9.7.14 and 9.7.15: in a warp, g = lane / 4 and t = lane % 4.
//
// Under the tests' emulator the same names are functions of tests/cuda_emulated/ptx_emulated.h.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simt.h"

namespace attn::cuda::ptx {

/// Packs two numbers, rounded to half precision; `low` is in the low 16 bits.
template <typename Half>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  std::uint32_t bits;
  if constexpr (std::is_same_v<Half, __half>) {
    const __half2 pair = __floats2half2_rn(low, high);
    memcpy(&bits, &pair, sizeof(bits));
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    memcpy(&bits, &pair, sizeof(bits));
  }
  return bits;
}

/// Returns the wgmma descriptor of a panel of 64 half-precision columns in shared memory. Its rows have 128 bytes,
/// whose 16-byte chunks are permuted by TMA's 128-byte swizzle. `groups` is the distance in bytes between groups of 8
/// rows. `panels` is the distance between panels, for a transposed operand wider than one panel. If an address is n
/// bytes higher, its descriptor is n/16 higher, and only the low half changes.
__device__ __forceinline__ std::uint64_t descriptor(std::uint32_t address, int panels, int groups) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  return kSwizzle128 | static_cast<std::uint64_t>(address >> 4) | static_cast<std::uint64_t>(panels >> 4) << 16 |
         static_cast<std::uint64_t>(groups >> 4) << 32;
}
/// Returns the descriptor of the data that begins `bytes` bytes later, a multiple of 16.
__device__ __forceinline__ std::uint64_t further(std::uint64_t descriptor, std::uint32_t bytes) {
  return (descriptor >> 32) << 32 | static_cast<std::uint32_t>(static_cast<std::uint32_t>(descriptor) + bytes / 16);
}

}  // namespace attn::cuda::ptx

#ifdef ATTN_CUDA_EMULATED
#include "ptx_emulated.h"
#else

namespace attn::cuda::ptx {

/// Returns the address in the shared state space. Arithmetic on it is cheaper than on pointers.
__device__ __forceinline__ std::uint32_t shared_address(const void* address) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(address));
}

/// Returns x, and hides its value from the compiler. Dependent values are then computed in place, not hoisted out of a
/// loop into registers.
__device__ __forceinline__ int here(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

/// Returns 2^x, within 2 units of the last place; 0 if the result would be denormal.
__device__ __forceinline__ float exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Returns 1 / x, within 1 unit of the last place; denormals count as 0.
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// d += a·b for a (16, 16), b (16, 8). a: {(g, 2t), (g+8, 2t), (g, 2t+8), (g+8, 2t+8)} and their right neighbors;
/// b: {(2t, g), (2t+8, g)} and their lower neighbors; d: (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1).
template <typename Half>
__device__ __forceinline__ void multiply_add(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                             std::uint32_t b1) {
  if constexpr (std::is_same_v<Half, __half>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

/// Loads four 8×8 matrices of half precision from shared memory: lane 8i + r passes the address of row r of matrix i,
/// from shared_address(), and gets (g, 2t) and (g, 2t+1) of each.
__device__ __forceinline__ void load_matrices(std::uint32_t (&r)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
}
/// Loads four 8×8 matrices of half precision from shared memory, transposed: each lane gets (2t, g) and (2t+1, g) of
/// each. Lane 8i + r passes the address of row r of matrix i.
__device__ __forceinline__ void load_matrices_transposed(std::uint32_t (&r)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(row)
               : "memory");
}

/// Begins a copy of 4 or 16 aligned bytes to shared memory; if not `inside`, writes zeros and reads nothing.
template <int Bytes>
__device__ __forceinline__ void copy_async(std::uint32_t shared, const void* global, bool inside) {
  static_assert(Bytes == 4 || Bytes == 16);
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(inside ? 16 : 0)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(global), "r"(inside ? 4 : 0)
                 : "memory");
  }
}
/// Ends a group of this thread's copies.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most `Groups` of this thread's groups are pending.
template <int Groups>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

/// Initializes a barrier in shared memory. A phase completes when `arrivals` have arrived and their announced bytes
/// have been copied. Phases are identified by their parity, starting with 0.
__device__ __forceinline__ void init_barrier(std::uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
/// Makes the barriers that this thread has initialized visible to TMA.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
/// Arrives at the barrier, and announces the bytes that TMA will copy.
__device__ __forceinline__ void arrive_expecting(std::uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
/// Waits until the phase with this parity is complete. On a new barrier, the phase with parity 1 counts as complete.
/// Tests on a GPU compile kernels with ATTN_WAIT_LIMIT, in nanoseconds. Waits normally take microseconds; a longer wait
/// then aborts the kernel with an error instead of hanging the GPU.
__device__ __forceinline__ void wait_barrier(std::uint64_t* barrier, std::uint32_t parity) {
#ifdef ATTN_WAIT_LIMIT
  asm volatile(
      "{\n.reg .pred done;\n.reg .u32 began, now;\n"
      "mov.u32 began, %%globaltimer_lo;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\n"
      "mov.u32 now, %%globaltimer_lo;\nsub.u32 now, now, began;\nsetp.lt.u32 done, now, %2;\n"
      "@done bra again;\ntrap;\nover:\n}" ::"r"(shared_address(barrier)),
      "r"(parity), "n"(ATTN_WAIT_LIMIT)
      : "memory");
#else
  asm volatile(
      "{\n.reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\nbra again;\nover:\n}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
#endif
}

/// Prefetches a tensor map for TMA.
__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Begins TMA's copy of the box at (c0, c1, c2, c3), innermost first; cells outside the array become zeros. `barrier`
/// receives all bytes of the box.
__device__ __forceinline__ void load_box(void* shared, const CUtensorMap* map, std::uint64_t* barrier, int c0, int c1,
                                         int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(shared_address(shared)),
      "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

/// Returns the block's index in its cluster.
__device__ __forceinline__ unsigned rank_in_cluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// Waits for all threads of the cluster; their earlier writes to shared memory are then visible in all of its blocks.
__device__ __forceinline__ void meet_cluster() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
/// Returns the address in block `rank` of the cluster that corresponds to `here` in this block's shared memory. It is
/// valid until that block ends.
template <typename T>
__device__ __forceinline__ const T* of_block(const T* here, unsigned rank) {
  const T* there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(here), "r"(rank));
  return there;
}

/// Makes this thread's writes to shared memory visible to TMA and to wgmma begun after a barrier.
__device__ __forceinline__ void show_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// Changes the number of registers per thread of this warpgroup.
template <int Registers>
__device__ __forceinline__ void keep_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ __forceinline__ void get_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

/// Meets at one of the block's named barriers 1 to 15, which open when `threads` threads have arrived.
__device__ __forceinline__ void meet(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void count_in(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// Required before a warpgroup's first wgmma, and after its threads have accessed accumulator registers.
__device__ __forceinline__ void fence_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Ends a group of products.
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most `Groups` groups are pending. Their registers must not be accessed earlier.
template <int Groups>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
}

}  // namespace attn::cuda::ptx

#endif
