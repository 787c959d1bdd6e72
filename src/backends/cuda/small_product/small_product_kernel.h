// A GEMM of at most 128 rows on Hopper. A cluster computes a panel of 64 columns, and its blocks split the sums over K.
// Each block multiplies its slice by TMA and wgmma, and leaves float32 partial sums in its shared memory. Then each
// block reduces its share of the rows over all blocks, where a thread has four columns of some rows, and stores the
// epilogue's results. Blocks synchronize twice by the cluster's barrier, in which every thread takes part.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstring>

#include "attention/wgmma.h"
#include "device.h"
#include "kernels/hot.h"
#include "kernels/pack.h"
#include "ptx.h"
#include "simt.h"
#include "small_product_launch.h"

namespace attn::cuda {

struct SmallProductArguments {
  SmallProductMaps maps;
  const std::byte *bias, *residual;
  std::byte* out;
  Function<float> activation;
  int rows, columns, depth_tiles;
  unsigned parts;
  int groups;
  bool weights_are_still;
};

namespace small {

constexpr int kPanel = 64, kRows = kMostRowsOfSmall, kDeep = 64, kStages = 8;

/// The stages for tiles of x and of the kernel. Their memory is reused for the partial sums once all products are done.
template <typename Half>
struct Shared {
  static constexpr int kPitch = kPanel + 8;  // pitch of the sums; rows of a quarter warp fall into different banks

  alignas(1024) Half x[kStages][kRows / 64][64 * kDeep];
  alignas(1024) Half kernel[kStages][kDeep * kPanel];
  alignas(8) std::uint64_t full[kStages];
  std::uint64_t empty[kStages];

  __device__ __forceinline__ float* sums() { return reinterpret_cast<float*>(x); }
  static_assert(sizeof(x) + sizeof(kernel) >= kRows * kPitch * sizeof(float));
};

template <typename Half>
class Block {
  using SharedMemory = Shared<Half>;
  static constexpr int kBoxBytes = 64 * 64 * sizeof(Half);

 public:
  __device__ __forceinline__ Block(const SmallProductArguments& given, SharedMemory& shared)
      : given_(given), shared_(shared), rank_(given.parts > 1 ? ptx::rank_in_cluster() : 0) {
    const auto tiles = static_cast<unsigned>(given.depth_tiles);
    first_ = static_cast<int>(tiles * rank_ / given.parts);
    count_ = static_cast<int>(tiles * (rank_ + 1) / given.parts) - first_;
    first_column_ = static_cast<int>(blockIdx.x / given.parts) * kPanel;
  }

  /// Initializes the barriers.
  __device__ __forceinline__ void begin() {
    if (threadIdx.x == 0) {
      ptx::prefetch_map(&given_.maps.x);
      ptx::prefetch_map(&given_.maps.kernel);
      for (int i = 0; i < kStages; ++i) {
        ptx::init_barrier(&shared_.full[i], 1);
        ptx::init_barrier(&shared_.empty[i], given_.groups * 4);
      }
      ptx::publish_barriers();
    }
    __syncthreads();
  }

  /// Computes this block's partial sums. All earlier kernels have ended by then.
  __device__ __forceinline__ void run() {
    if (static_cast<int>(threadIdx.x) / 128 == given_.groups) {
      produce();
    } else {
      wait_for_previous_kernel();
      multiply();
    }
  }

  /// Synchronizes all threads of the cluster.
  __device__ __forceinline__ void meet() const { given_.parts > 1 ? ptx::meet_cluster() : __syncthreads(); }

  [[nodiscard]] __device__ __forceinline__ int rank() const { return static_cast<int>(rank_); }
  [[nodiscard]] __device__ __forceinline__ int first_column() const { return first_column_; }
  /// Four sums of a row, from one block of the cluster.
  [[nodiscard]] __device__ __forceinline__ float4 sums_of(unsigned part, int row, int column) const {
    const float* const sums = given_.parts > 1 ? ptx::of_block(shared_.sums(), part) : shared_.sums();
    return *reinterpret_cast<const float4*>(sums + row * SharedMemory::kPitch + column);
  }

 private:
  /// Run by one warp: its first lane loads tiles by TMA. Memory that no step of a pass writes is loaded before the
  /// previous kernel has ended.
  __device__ __forceinline__ void produce() {
    const bool asks = threadIdx.x % 32 == 0;
    const int ahead = count_ < kStages ? count_ : kStages;
    if (asks && given_.weights_are_still) {
#pragma unroll 1
      for (int i = 0; i < ahead; ++i) load_kernel(i);
    }
    wait_for_previous_kernel();
    if (asks) {
#pragma unroll 1
      for (int i = 0; i < count_; ++i) {
        if (i >= kStages) ptx::wait_barrier(&shared_.empty[i % kStages], (i / kStages & 1) ^ 1);
        if (i >= ahead || !given_.weights_are_still) load_kernel(i);
        load_x(i);
      }
    }
    __syncwarp();
  }

  /// Announces all bytes of tile i, and loads the kernel's.
  __device__ __forceinline__ void load_kernel(int i) {
    const int stage = i % kStages;
    ptx::arrive_expecting(&shared_.full[stage], (given_.groups + 1) * kBoxBytes);
    ptx::load_box(shared_.kernel[stage], &given_.maps.kernel, &shared_.full[stage], first_column_, 0,
                  (first_ + i) * kDeep, 0);
  }
  __device__ __forceinline__ void load_x(int i) {
    const int stage = i % kStages;
#pragma unroll 1
    for (int g = 0; g < given_.groups; ++g) {
      ptx::load_box(shared_.x[stage][g], &given_.maps.x, &shared_.full[stage], (first_ + i) * kDeep, 0, g * 64, 0);
    }
  }

  /// Run by a warpgroup: 64 rows of the panel.
  __device__ __forceinline__ void multiply() {
    const int group = __shfl_sync(~0U, static_cast<int>(threadIdx.x) / 128, 0);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::uint64_t x = ptx::descriptor(ptx::shared_address(shared_.x[0][group]), 16, 1024);
    const std::uint64_t kernel = ptx::descriptor(ptx::shared_address(shared_.kernel), 1024, 1024);
    float sums[32] = {};
    int stage = 0, parity = 0, before = 0;
#pragma unroll 1
    for (int i = 0; i < count_; ++i) {
      ptx::wait_barrier(&shared_.full[stage], static_cast<std::uint32_t>(parity));
      ptx::fence_products();
      const std::uint64_t x_here = ptx::further(x, static_cast<std::uint32_t>(stage * (kRows / 64) * kBoxBytes));
      const std::uint64_t kernel_here = ptx::further(kernel, static_cast<std::uint32_t>(stage * kBoxBytes));
#pragma unroll
      for (int k = 0; k < kDeep / 16; ++k) {
        ptx::begin_product_of_rows<Half>(sums, ptx::further(x_here, k * 32), ptx::further(kernel_here, k * 16 * 128));
      }
      ptx::commit_products();
      ptx::wait_products<1>();
      if (i > 0) free(lane, before);
      before = stage;
      if (++stage == kStages) {
        stage = 0;
        parity ^= 1;
      }
    }
    ptx::wait_products<0>();
    // The stages are free once all warpgroups have read the last tiles.
    ptx::meet(1, given_.groups * 128);
    float* const to =
        shared_.sums() + (static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4) * SharedMemory::kPitch + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < kPanel / 8; ++j) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        *reinterpret_cast<float2*>(to + r * 8 * SharedMemory::kPitch + j * 8) =
            make_float2(sums[4 * j + 2 * r], sums[4 * j + 2 * r + 1]);
      }
    }
  }

  __device__ __forceinline__ void free(int lane, int stage) {
    __syncwarp();
    if (lane == 0) ptx::arrive(&shared_.empty[stage]);
  }

  const SmallProductArguments& given_;
  SharedMemory& shared_;
  unsigned rank_;
  int first_, count_;  // tiles of K
  int first_column_;
};

template <typename T>
__device__ __forceinline__ const T* numbers_at(const std::byte* data, std::int64_t i) {
  return reinterpret_cast<const T*>(data) + i;
}

/// A thread's columns of a tile, and their bias.
template <typename Half>
struct Columns {
  static constexpr int kWide = 4, kThreadsOfRow = kPanel / kWide;
  int in_tile, first;
  bool inside;
  float bias[kWide] = {};

  __device__ __forceinline__ Columns(const SmallProductArguments& given, int tile_column)
      : in_tile(static_cast<int>(threadIdx.x) % kThreadsOfRow * kWide),
        first(tile_column + in_tile),
        inside(first < given.columns) {}
  __device__ __forceinline__ void load_bias(const SmallProductArguments& given) {
    if (inside && given.bias != nullptr) load_pack(numbers_at<Half>(given.bias, first), bias);
  }
};

/// Reduces this block's share of the rows over all blocks of the cluster, and stores the epilogue's results. Loads for
/// up to four rows are issued together, ahead of their use.
template <typename Half, unsigned Parts>
__device__ __forceinline__ void reduce_and_store(const SmallProductArguments& given, const Block<Half>& block,
                                                 const Columns<Half>& columns) {
  constexpr int kWide = Columns<Half>::kWide, kAll = (8 + static_cast<int>(Parts) - 1) / static_cast<int>(Parts);
  constexpr int kUnits = kAll < 4 ? kAll : 4, kTurns = (kAll + kUnits - 1) / kUnits;
  // The turns cover 18 rows at a time with two warpgroups, or 10 with one.
  static_assert(kTurns * kUnits * 18 * Parts >= kRows && kTurns * kUnits * 10 * Parts >= 64);
  const int rows_at_once = static_cast<int>(blockDim.x) / Columns<Half>::kThreadsOfRow;
  const int mine = static_cast<int>(threadIdx.x) / Columns<Half>::kThreadsOfRow;
#pragma unroll 1
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto row_of = [&](int unit) {
      return block.rank() + static_cast<int>(Parts) * ((turn * kUnits + unit) * rows_at_once + mine);
    };
    const auto place_of = [&](int unit) { return std::int64_t{row_of(unit)} * given.columns + columns.first; };
    const auto is_there = [&](int unit) { return columns.inside && row_of(unit) < given.rows; };
    uint2 residual[kUnits] = {};
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      if (given.residual != nullptr && is_there(unit))
        residual[unit] = *reinterpret_cast<const uint2*>(numbers_at<Half>(given.residual, place_of(unit)));
    }
    if (turn == 0) block.meet();
    float numbers[kUnits * kWide] = {};
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
#pragma unroll
      for (unsigned part = 0; part < Parts; ++part) {
        if (!is_there(unit)) continue;
        const float4 sums = block.sums_of(part, row_of(unit), columns.in_tile);
        numbers[unit * kWide] += sums.x;
        numbers[unit * kWide + 1] += sums.y;
        numbers[unit * kWide + 2] += sums.z;
        numbers[unit * kWide + 3] += sums.w;
      }
#pragma unroll
      for (int j = 0; j < kWide; ++j) numbers[unit * kWide + j] += columns.bias[j];
    }
    apply_hot<Half>(given.activation, numbers);
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      Half others[kWide];
      memcpy(static_cast<void*>(others), &residual[unit], sizeof(others));
      float results[kWide];
#pragma unroll
      for (int j = 0; j < kWide; ++j) results[j] = numbers[unit * kWide + j] + to_float(others[j]);
      if (is_there(unit)) store_pack(reinterpret_cast<Half*>(given.out) + place_of(unit), results);
    }
  }
  block.meet();  // other blocks read this block's sums until then
}

template <typename Half>
__device__ __forceinline__ void multiply_and_write(const SmallProductArguments& given) {
  Block<Half> block(given, *shared_memory<Shared<Half>>());
  block.begin();
  Columns<Half> columns(given, block.first_column());
  if (given.weights_are_still) columns.load_bias(given);
  block.run();
  if (!given.weights_are_still) columns.load_bias(given);
  switch (given.parts) {
    case 8:
      return reduce_and_store<Half, 8>(given, block, columns);
    case 6:
      return reduce_and_store<Half, 6>(given, block, columns);
    case 4:
      return reduce_and_store<Half, 4>(given, block, columns);
    case 3:
      return reduce_and_store<Half, 3>(given, block, columns);
    case 2:
      return reduce_and_store<Half, 2>(given, block, columns);
    default:
      return reduce_and_store<Half, 1>(given, block, columns);
  }
}

}  // namespace small

template <typename Half>
__global__ void __launch_bounds__(2 * 128 + 32, 1) small_product(const __grid_constant__ SmallProductArguments given) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(ATTN_CUDA_EMULATED)
  let_next_kernel_start();
  small::multiply_and_write<Half>(given);
#else
  __trap();  // why_not_small_product declines builds without code for sm_90a
#endif
}

template <typename Half>
Launch make_small_product(const SmallProduct& product, const SmallProductMaps& maps, const SmallTiling& tiling) {
  SmallProductArguments given;
  given.maps = maps;
  given.bias = product.bias;
  given.residual = product.residual;
  given.out = product.out;
  given.activation = function_of<float>(product.activation);
  given.rows = static_cast<int>(product.M);
  given.columns = static_cast<int>(product.N);
  given.depth_tiles = static_cast<int>((product.K + small::kDeep - 1) / small::kDeep);
  given.parts = tiling.parts;
  given.groups = tiling.groups;
  given.weights_are_still = product.weights_are_still;
  LaunchShape shape;
  shape.cluster = tiling.parts;
  shape.grid.x = tiling.tiles * tiling.parts;
  shape.block.x = static_cast<unsigned>(tiling.groups * 128 + 32);
  shape.shared_bytes = sizeof(small::Shared<Half>);
  if (shape.cluster > 1 && !can_be_launched(small_product<Half>, shape)) return nullptr;
  return [given = SmallProductArguments(given), shape](cudaStream_t stream) {
    check(launch(small_product<Half>, shape, stream, given), "launching a product");
  };
}

}  // namespace attn::cuda
