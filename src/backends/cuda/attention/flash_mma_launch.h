// Launches of the attention kernel for tensor cores, one for each compiled head size and number of tiles.
#pragma once

#include "device.h"
#include "flash_mma_kernel.h"
#include "simt.h"

namespace attn::cuda {

template <typename Half, int D, int Tiles>
__global__ void __launch_bounds__(128, 2) flash_mma(const __grid_constant__ FlashMma given) {
  let_next_kernel_start();
  wait_for_previous_kernel();
  FlashMmaKernel<Half, D, Tiles>(given).run();
}

template <typename Half, int D, int Tiles>
[[nodiscard]] Launch launch_of_flash_mma(const FlashMma& given) {
  LaunchShape shape;
  shape.grid.x = static_cast<unsigned>(given.tiling.blocks());
  shape.block.x = FlashMmaKernel<Half, D, Tiles>::kThreads;
  shape.shared_bytes = flash_mma_shared_bytes(D, Tiles);
  return [given = FlashMma(given), shape](cudaStream_t stream) {
    check(launch(flash_mma<Half, D, Tiles>, shape, stream, given), "launching attention");
  };
}

template <typename Half>
Launch make_flash_mma(FlashMma given, int size, int tiles) {
  switch (size * 2 + tiles) {
    case 32 * 2 + 1:
      return launch_of_flash_mma<Half, 32, 1>(given);
    case 32 * 2 + 2:
      return launch_of_flash_mma<Half, 32, 2>(given);
    case 64 * 2 + 1:
      return launch_of_flash_mma<Half, 64, 1>(given);
    case 64 * 2 + 2:
      return launch_of_flash_mma<Half, 64, 2>(given);
    case 96 * 2 + 1:
      return launch_of_flash_mma<Half, 96, 1>(given);
    case 96 * 2 + 2:
      return launch_of_flash_mma<Half, 96, 2>(given);
    case 128 * 2 + 1:
      return launch_of_flash_mma<Half, 128, 1>(given);
    case 128 * 2 + 2:
      return launch_of_flash_mma<Half, 128, 2>(given);
    default:
      return launch_of_flash_mma<Half, 256, 1>(given);
  }
}

}  // namespace attn::cuda
