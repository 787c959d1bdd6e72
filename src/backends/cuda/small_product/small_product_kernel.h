// A product of at most 128 rows on Hopper. The blocks of a cluster take panels of columns side by side, and parts of
// the sums over K: each multiplies its own by TMA and wgmma, and leaves float32 sums in its shared memory. Once all
// have, the cluster's warps take the rows in turn: one adds a row's parts up from all blocks, and so holds all of its
// columns for a norm. Blocks wait for each other twice, by the cluster's barrier, in which every thread takes part.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>

#include "attention/wgmma.h"
#include "device.h"
#include "kernels/hot.h"
#include "kernels/pack.h"
#include "kernels/row.h"
#include "ptx.h"
#include "simt.h"
#include "small_product_launch.h"

namespace attn::cuda {

struct SmallProductGiven {
  SmallProductMaps maps;
  const std::byte *bias, *residual, *gamma, *beta;
  std::byte *sum, *out;
  Function<float> activation;
  graph::NormKind kind;
  float epsilon;
  int rows, columns, depth_tiles;
  unsigned parts;
  int groups;
  bool kernel_is_still;
};

namespace small {

constexpr int kPanel = 64, kRows = kMostRowsOfSmall, kDeep = 64;

/// Tiles on the way, of x and of the kernel. They give their place to the sums when all products have been made.
template <typename Half, int Panels>
struct Shared {
  static constexpr int kStages = std::min<int>(8, 200 * 1024 / ((kRows + Panels * kPanel) * kDeep * sizeof(Half)));
  static constexpr int kPitch = Panels * kPanel + 8;  // of sums; rows of a quarter warp lie in different banks

  alignas(1024) Half x[kStages][kRows / 64][64 * kDeep];
  alignas(1024) Half kernel[kStages][Panels][kDeep * kPanel];
  alignas(8) std::uint64_t full[kStages];
  std::uint64_t empty[kStages];

  __device__ __forceinline__ float* sums() { return reinterpret_cast<float*>(x); }
  static_assert(sizeof(x) + sizeof(kernel) >= kRows * kPitch * sizeof(float));
};

template <typename Half, int Panels, unsigned Side>
class Block {
  using SharedMemory = Shared<Half, Panels>;
  static constexpr int kStages = SharedMemory::kStages;
  static constexpr int kPanelBytes = 64 * 64 * sizeof(Half);

 public:
  __device__ __forceinline__ Block(const SmallProductGiven& given, SharedMemory& shared)
      : given_(given), shared_(shared), cluster_(Side * given.parts) {
    rank_ = cluster_ > 1 ? ptx::rank_in_cluster() : 0;
    const auto tiles = static_cast<unsigned>(given.depth_tiles), part = rank_ / Side;
    first_ = static_cast<int>(tiles * part / given.parts);
    count_ = static_cast<int>(tiles * (part + 1) / given.parts) - first_;
    tile_column_ = static_cast<int>(blockIdx.x / cluster_ * Side) * Panels * kPanel;
  }

  __device__ __forceinline__ void run() {
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
    if (static_cast<int>(threadIdx.x) / 128 == given_.groups) {
      produce();
    } else {
      wait_for_previous_kernel();
      multiply();
    }
    meet();
  }

  /// A row's pairs of columns that a lane holds: 2·lane and the next, of each panel of each block of the side.
  struct Row {
    float numbers[Side][Panels][2] = {};
  };

  /// Calls f(numbers, column) for the pairs of a row that are inside.
  template <typename Each>
  __device__ __forceinline__ void each(Row& row, Each f) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (unsigned side = 0; side < Side; ++side) {
#pragma unroll
      for (int p = 0; p < Panels; ++p) {
        const int column = tile_column_ + (static_cast<int>(side) * Panels + p) * kPanel + lane * 2;
        if (column < given_.columns) f(row.numbers[side][p], column);
      }
    }
  }

  /// Calls f(row, its numbers: the sums over K) for the rows of this warp.
  template <typename Each>
  __device__ __forceinline__ void each_row(Each f) {
    const int warps = static_cast<int>(blockDim.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int step = static_cast<int>(cluster_) * warps;
    const int begin = static_cast<int>(rank_) + static_cast<int>(cluster_) * (static_cast<int>(threadIdx.x) / 32);
#pragma unroll 1
    for (int r = begin; r < given_.rows; r += step) {
      Row row;
#pragma unroll 1
      for (unsigned part = 0; part < given_.parts; ++part) {
#pragma unroll
        for (unsigned side = 0; side < Side; ++side) {
          const float* const sums = of(part * Side + side) + r * SharedMemory::kPitch + lane * 2;
#pragma unroll
          for (int p = 0; p < Panels; ++p) {
            const float2 pair = *reinterpret_cast<const float2*>(sums + p * kPanel);
            row.numbers[side][p][0] += pair.x;
            row.numbers[side][p][1] += pair.y;
          }
        }
      }
      f(r, row);
    }
  }

  /// All threads of the cluster.
  __device__ __forceinline__ void meet() const { cluster_ > 1 ? ptx::meet_cluster() : __syncthreads(); }

 private:
  /// The sums of a block of the cluster.
  __device__ __forceinline__ const float* of(unsigned rank) const {
    return cluster_ > 1 ? ptx::of_block(shared_.sums(), rank) : shared_.sums();
  }

  /// By one warp: its first lane asks TMA for tiles. What no step of a pass writes is asked for before the kernel ahead
  /// has ended.
  __device__ __forceinline__ void produce() {
    const bool asks = threadIdx.x % 32 == 0;
    const int ahead = count_ < kStages ? count_ : kStages;
    if (asks && given_.kernel_is_still) {
#pragma unroll 1
      for (int i = 0; i < ahead; ++i) load_kernel(i);
    }
    wait_for_previous_kernel();
    if (asks) {
#pragma unroll 1
      for (int i = 0; i < count_; ++i) {
        if (i >= kStages) ptx::wait_barrier(&shared_.empty[i % kStages], (i / kStages & 1) ^ 1);
        if (i >= ahead || !given_.kernel_is_still) load_kernel(i);
        load_x(i);
      }
    }
    __syncwarp();
  }

  /// Announces all bytes of tile i, and asks for the kernel's.
  __device__ __forceinline__ void load_kernel(int i) {
    const int stage = i % kStages, side = static_cast<int>(rank_ % Side);
    ptx::arrive_expecting(&shared_.full[stage], (given_.groups + Panels) * kPanelBytes);
#pragma unroll 1
    for (int p = 0; p < Panels; ++p) {
      ptx::load_box(shared_.kernel[stage][p], &given_.maps.kernel, &shared_.full[stage],
                    tile_column_ + (side * Panels + p) * kPanel, 0, (first_ + i) * kDeep, 0);
    }
  }
  __device__ __forceinline__ void load_x(int i) {
    const int stage = i % kStages;
#pragma unroll 1
    for (int g = 0; g < given_.groups; ++g) {
      ptx::load_box(shared_.x[stage][g], &given_.maps.x, &shared_.full[stage], (first_ + i) * kDeep, 0, g * 64, 0);
    }
  }

  /// By a warpgroup: 64 rows of all panels.
  __device__ __forceinline__ void multiply() {
    const int group = __shfl_sync(~0U, static_cast<int>(threadIdx.x) / 128, 0);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::uint64_t x = ptx::descriptor(ptx::shared_address(shared_.x[0][group]), 16, 1024);
    const std::uint64_t kernel = ptx::descriptor(ptx::shared_address(shared_.kernel), 1024, 1024);
    float sums[Panels][32] = {};
    int stage = 0, parity = 0, before = 0;
#pragma unroll 1
    for (int i = 0; i < count_; ++i) {
      ptx::wait_barrier(&shared_.full[stage], static_cast<std::uint32_t>(parity));
      ptx::fence_products();
      const std::uint64_t x_here = ptx::further(x, static_cast<std::uint32_t>(stage * (kRows / 64) * kPanelBytes));
      const std::uint64_t kernel_here = ptx::further(kernel, static_cast<std::uint32_t>(stage * Panels * kPanelBytes));
#pragma unroll
      for (int k = 0; k < kDeep / 16; ++k) {
#pragma unroll
        for (int p = 0; p < Panels; ++p) {
          ptx::begin_product_of_rows<Half>(sums[p], ptx::further(x_here, k * 32),
                                           ptx::further(kernel_here, p * kPanelBytes + k * 16 * 128));
        }
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
    // The last tiles are nobody's any more once all warpgroups have read them.
    ptx::meet(1, given_.groups * 128);
    float* const to =
        shared_.sums() + (static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4) * SharedMemory::kPitch + lane % 4 * 2;
#pragma unroll
    for (int p = 0; p < Panels; ++p) {
#pragma unroll
      for (int j = 0; j < kPanel / 8; ++j) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          *reinterpret_cast<float2*>(to + r * 8 * SharedMemory::kPitch + p * kPanel + j * 8) =
              make_float2(sums[p][4 * j + 2 * r], sums[p][4 * j + 2 * r + 1]);
        }
      }
    }
  }

  __device__ __forceinline__ void free(int lane, int stage) {
    __syncwarp();
    if (lane == 0) ptx::arrive(&shared_.empty[stage]);
  }

  const SmallProductGiven& given_;
  SharedMemory& shared_;
  unsigned cluster_, rank_;
  int first_, count_;  // tiles of K
  int tile_column_;    // of the cluster
};

}  // namespace small

template <typename Half, int Panels, bool Norm>
__device__ __forceinline__ void multiply_small(const SmallProductGiven& given) {
  using Block = small::Block<Half, Panels, Norm ? kSideOfNorm : 1U>;
  let_next_kernel_start();
  Block block(given, *shared_memory<small::Shared<Half, Panels>>());
  block.run();
  const auto numbers_at = [](const std::byte* data, std::int64_t i) { return reinterpret_cast<const Half*>(data) + i; };
  const auto place_at = [](std::byte* data, std::int64_t i) { return reinterpret_cast<Half*>(data) + i; };
  block.each_row([&](int r, typename Block::Row& row) {
    const std::int64_t start = std::int64_t{r} * given.columns;
    float total = 0.0F;
    block.each(row, [&](float(&numbers)[2], int column) {
      float others[2];
      if (given.bias != nullptr) {
        load_pack(numbers_at(given.bias, column), others);
        numbers[0] += others[0];
        numbers[1] += others[1];
      }
      if constexpr (!Norm) apply_hot(given.activation, numbers);
      if (given.residual != nullptr) {
        load_pack(numbers_at(given.residual, start + column), others);
        numbers[0] += others[0];
        numbers[1] += others[1];
      }
      if constexpr (Norm) {
        numbers[0] = to_float(from_float<Half>(numbers[0]));
        numbers[1] = to_float(from_float<Half>(numbers[1]));
        if (given.sum != nullptr) store_pack(place_at(given.sum, start + column), numbers);
        total += numbers[0] + numbers[1];
      } else {
        store_pack(place_at(given.out, start + column), numbers);
      }
    });
    if constexpr (Norm) {
      const auto columns = static_cast<float>(given.columns);
      const float mean = given.kind == graph::NormKind::rms ? 0.0F : warp_sum(total) / columns;
      float spread = 0.0F;
      block.each(row, [&](float(&numbers)[2], int) {
        spread += (numbers[0] - mean) * (numbers[0] - mean) + (numbers[1] - mean) * (numbers[1] - mean);
      });
      const Statistics made = statistics(given.kind, mean, warp_sum(spread) / columns, given.epsilon);
      block.each(row, [&](float(&numbers)[2], int column) {
        float factors[2] = {1.0F, 1.0F}, shifts[2] = {};
        if (given.gamma != nullptr) load_pack(numbers_at(given.gamma, column), factors);
        if (given.beta != nullptr) load_pack(numbers_at(given.beta, column), shifts);
#pragma unroll
        for (int j = 0; j < 2; ++j) numbers[j] = (numbers[j] - made.shift) * made.inverse * factors[j] + shifts[j];
        store_pack(place_at(given.out, start + column), numbers);
      });
    }
  });
  block.meet();  // until then, others read this block's sums
}

template <typename Half, int Panels, bool Norm>
__global__ void __launch_bounds__(2 * 128 + 32, 1) small_product(const __grid_constant__ SmallProductGiven given) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(ATTN_CUDA_EMULATED)
  multiply_small<Half, Panels, Norm>(given);
#else
  __trap();  // why_not_small_product declines where there is no code for sm_90a
#endif
}

template <typename Half, int Panels, bool Norm>
Launch launch_of_small_product(const SmallProductGiven& given, const SmallTiling& tiling) {
  LaunchShape shape;
  shape.cluster = tiling.parts * (Norm ? kSideOfNorm : 1U);
  shape.grid.x = tiling.tiles * shape.cluster;
  shape.block.x = static_cast<unsigned>(tiling.groups * 128 + 32);
  shape.shared_bytes = sizeof(small::Shared<Half, Panels>);
  if (shape.cluster > 1 && !can_be_launched(small_product<Half, Panels, Norm>, shape)) return nullptr;
  return [given = SmallProductGiven(given), shape](cudaStream_t stream) {
    check(launch(small_product<Half, Panels, Norm>, shape, stream, given), "launching a product");
  };
}

template <typename Half>
Launch make_small_product(const SmallProduct& product, const SmallProductMaps& maps, const SmallTiling& tiling) {
  SmallProductGiven given;
  given.maps = maps;
  given.bias = product.bias;
  given.residual = product.residual;
  given.gamma = product.gamma;
  given.beta = product.beta;
  given.sum = product.sum;
  given.out = product.out;
  given.activation = function_of<float>(product.activation);
  given.kind = product.norm != nullptr ? product.norm->kind : graph::NormKind::layer;
  given.epsilon = product.norm != nullptr ? static_cast<float>(product.norm->epsilon) : 0.0F;
  given.rows = static_cast<int>(product.M);
  given.columns = static_cast<int>(product.N);
  given.depth_tiles = static_cast<int>((product.K + small::kDeep - 1) / small::kDeep);
  given.parts = tiling.parts;
  given.groups = tiling.groups;
  given.kernel_is_still = product.kernel_is_still;
  if (product.norm == nullptr) return launch_of_small_product<Half, 1, false>(given, tiling);
  switch (tiling.panels) {
    case 1:
      return launch_of_small_product<Half, 1, true>(given, tiling);
    case 2:
      return launch_of_small_product<Half, 2, true>(given, tiling);
    case 3:
      return launch_of_small_product<Half, 3, true>(given, tiling);
    default:
      return launch_of_small_product<Half, 4, true>(given, tiling);
  }
}

}  // namespace attn::cuda
