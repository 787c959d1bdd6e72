// The instructions of src/backends/cuda/ptx.h and wgmma.h, emulated after PTX ISA 9. Asynchronous work is done as late
// as allowed, or at once, depending on the block. Until then its destination holds NaN. This reveals a missing wait,
// and a buffer that is filled while others still read it.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>
#include <type_traits>

#include "emulator.h"

namespace attn::simt {

struct Product {
  int columns = 0;                   ///< N of m64nNk16
  bool bfloat16 = false;             ///< otherwise float16
  bool transposed = false;           ///< b is (16, N) in shared memory, otherwise (N, 16)
  bool accumulate = false;           ///< otherwise d is overwritten
  float* d = nullptr;                ///< N/2 registers
  const std::uint32_t* a = nullptr;  ///< 4 registers; null: a is in shared memory
  std::uint64_t a_descriptor = 0, b_descriptor = 0;
};

[[nodiscard]] std::uint32_t shared_address(const void* address);
void multiply_add(bool bfloat16, float* d, const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1);
void load_matrices(std::uint32_t* r, std::uint32_t row, bool transposed);
void copy_async(std::uint32_t shared, const void* global, int bytes, bool inside);
void commit_copies();
void wait_copies(int groups);
void init_barrier(std::uint64_t* barrier, int arrivals);
void publish_barriers();
void arrive_at(std::uint64_t* barrier, int bytes);
void wait_barrier(std::uint64_t* barrier, std::uint32_t parity);
/// Copies to the same place in the first `blocks` blocks of the cluster; 0: only in the running thread's block.
void load_box(void* shared, const CUtensorMap* map, std::uint64_t* barrier, const int (&corner)[4], unsigned blocks);
void fence_products();
void begin_product(const Product& product);
void commit_products();
void wait_products(int groups);
[[nodiscard]] float exp2(float x);

}  // namespace attn::simt

namespace attn::cuda::ptx {

inline std::uint32_t shared_address(const void* address) { return simt::shared_address(address); }
inline int here(int x) { return x; }
inline float exp2(float x) { return simt::exp2(x); }
inline float reciprocal(float x) { return 1.0F / x; }

template <typename Half>
void multiply_add(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  simt::multiply_add(std::is_same_v<Half, __nv_bfloat16>, d, a, b0, b1);
}
inline void load_matrices(std::uint32_t (&r)[4], std::uint32_t row) { simt::load_matrices(r, row, false); }
inline void load_matrices_transposed(std::uint32_t (&r)[4], std::uint32_t row) { simt::load_matrices(r, row, true); }

template <int Bytes>
void copy_async(std::uint32_t shared, const void* global, bool inside) {
  static_assert(Bytes == 4 || Bytes == 16);
  simt::copy_async(shared, global, Bytes, inside);
}
inline void commit_copies() { simt::commit_copies(); }
template <int Groups>
void wait_copies() {
  simt::wait_copies(Groups);
}

inline void init_barrier(std::uint64_t* barrier, int arrivals) { simt::init_barrier(barrier, arrivals); }
inline void publish_barriers() { simt::publish_barriers(); }
inline void arrive(std::uint64_t* barrier) { simt::arrive_at(barrier, 0); }
inline void arrive_expecting(std::uint64_t* barrier, int bytes) { simt::arrive_at(barrier, bytes); }
inline void wait_barrier(std::uint64_t* barrier, std::uint32_t parity) { simt::wait_barrier(barrier, parity); }
inline void load_box(void* shared, const CUtensorMap* map, std::uint64_t* barrier, int c0, int c1, int c2, int c3) {
  simt::load_box(shared, map, barrier, {c0, c1, c2, c3}, 0);
}
inline unsigned rank_in_cluster() { return simt::self().rank; }
inline void meet_cluster() { simt::meet_cluster(); }
template <typename T>
const T* of_block(const T* here, unsigned rank) {
  return reinterpret_cast<const T*>(simt::of_block(here, rank));
}

inline void prefetch_map(const CUtensorMap*) {}
inline void show_to_products() {}

template <int Registers>
void keep_registers() {
  static_assert(Registers >= 24 && Registers <= 256 && Registers % 8 == 0);
}
template <int Registers>
void get_registers() {
  static_assert(Registers >= 24 && Registers <= 256 && Registers % 8 == 0);
}

inline void meet(int id, int threads) { simt::meet(id, threads); }
inline void count_in(int id, int threads) { simt::arrive(id, threads); }

inline void fence_products() { simt::fence_products(); }
template <typename Half, int N>
void begin_product(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, int accumulate) {
  simt::begin_product({N, std::is_same_v<Half, __nv_bfloat16>, false, accumulate != 0, d, nullptr, a, b});
}
template <typename Half, int N>
void begin_product(float (&d)[N / 2], const std::uint32_t (&a)[4], std::uint64_t b) {
  simt::begin_product({N, std::is_same_v<Half, __nv_bfloat16>, true, true, d, a, 0, b});
}
template <typename Half>
void begin_product_of_rows(float (&d)[32], std::uint64_t a, std::uint64_t b) {
  simt::begin_product({64, std::is_same_v<Half, __nv_bfloat16>, true, true, d, nullptr, a, b});
}
inline void commit_products() { simt::commit_products(); }
template <int Groups>
void wait_products() {
  simt::wait_products(Groups);
}

}  // namespace attn::cuda::ptx
