// One-pass attention on Hopper (FlashAttention-3, arXiv:2407.08608). A producer warp loads tiles of keys and values by
// TMA, double-buffered. Two or three consumer warpgroups compute 64 queries each. A consumer overlaps two GEMMs with
// its softmax: that of the next keys, and that of the last weights and values. Consumers take turns, so that one uses
// the tensor cores while another computes exponentials. Blocks are persistent: they take tiles of queries until none is
// left.
#pragma once

#include "device.h"
#include "flash_sm90.h"
#include "flash_sm90_consumer.h"
#include "flash_sm90_producer.h"

namespace attn::cuda {

template <typename Half, int D, int Groups, int Keys, bool Masked>
__device__ __forceinline__ void attend_sm90(const FlashSm90& given) {
  constexpr int kConsumerWarps = Groups * 4;
  auto& shared = *shared_memory<sm90::Shared<Half, D, Groups, Keys>>();
  let_next_kernel_start();
  if (threadIdx.x == 0) {
    ptx::prefetch_map(&given.query);
    ptx::prefetch_map(&given.key);
    ptx::prefetch_map(&given.value);
    ptx::init_barrier(&shared.query_full, 1);
    ptx::init_barrier(&shared.query_empty, kConsumerWarps);
    ptx::init_barrier(&shared.cut_full, 1);
    for (int i = 0; i < sm90::kStages; ++i) {
      ptx::init_barrier(&shared.key_full[i], 1);
      ptx::init_barrier(&shared.value_full[i], 1);
      ptx::init_barrier(&shared.key_empty[i], kConsumerWarps);
      ptx::init_barrier(&shared.value_empty[i], kConsumerWarps);
    }
    ptx::publish_barriers();
  }
  wait_for_previous_kernel();
  __syncthreads();
  // The block has 65536 registers, which consumers need more than the producer.
  if (threadIdx.x / 128 == Groups) {
    ptx::keep_registers<Groups == 2 ? 40 : 32>();
    if (threadIdx.x / 32 == Groups * 4) sm90::Producer<Half, D, Groups, Keys>(given, shared).run();
  } else {
    ptx::get_registers<Groups == 2 ? 232 : 160>();
    sm90::Consumer<Half, D, Groups, Keys, Masked>(given, shared).run();
  }
}

template <typename Half, int D, int Groups, int Keys, bool Masked>
__global__ void __launch_bounds__((Groups + 1) * 128, 1) flash_sm90(const __grid_constant__ FlashSm90 given) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(ATTN_CUDA_EMULATED)
  attend_sm90<Half, D, Groups, Keys, Masked>(given);
#else
  __trap();  // why_not_flash_sm90 rejects builds without code for sm_90a
#endif
}

template <typename Half, FlashSm90Tiles tiles, bool Masked>
Launch launch_of_flash_sm90(const FlashSm90& given, int blocks) {
  LaunchShape shape;
  shape.grid.x = static_cast<unsigned>(blocks);
  shape.block.x = (tiles.groups + 1) * 128;
  shape.shared_bytes = tiles.shared_bytes();
  return [given = FlashSm90(given), shape](cudaStream_t stream) {
    check(launch(flash_sm90<Half, tiles.size, tiles.groups, tiles.keys, Masked>, shape, stream, given),
          "launching attention");
  };
}

template <typename Half>
Launch make_flash_sm90(const FlashSm90& given, const FlashSm90Tiles& tiles, int blocks) {
  const bool masked = given.key_mask != nullptr || given.query_mask != nullptr;
  if (tiles.size == 64) {
    return masked ? launch_of_flash_sm90<Half, kFlashSm90Tiles64, true>(given, blocks)
                  : launch_of_flash_sm90<Half, kFlashSm90Tiles64, false>(given, blocks);
  }
  if (tiles.size == 256) {
    return masked ? launch_of_flash_sm90<Half, kFlashSm90Tiles256, true>(given, blocks)
                  : launch_of_flash_sm90<Half, kFlashSm90Tiles256, false>(given, blocks);
  }
  if (masked) return launch_of_flash_sm90<Half, kFlashSm90Tiles128, true>(given, blocks);
  return tiles.keys == 128 ? launch_of_flash_sm90<Half, kFlashSm90Tiles128, false>(given, blocks)
                           : launch_of_flash_sm90<Half, kFlashSm90LongTiles128, false>(given, blocks);
}

}  // namespace attn::cuda
