// Random numbers for measurements.
#include <algorithm>
#include <cstdint>

#include "device.h"
#include "simt.h"
#include "tuning.h"

namespace attn::cuda {
namespace {

constexpr unsigned kThreads = 256, kMostBlocks = 1024;

/// The sign and 7 bits of each half-precision number are random; the exponent is that of 0.5 in bfloat16 and of 1.75 in
/// float16.
__global__ void __launch_bounds__(kThreads) fill_kernel(std::uint32_t* words, std::int64_t count) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step) {
    std::uint32_t x = static_cast<std::uint32_t>(i) * 2654435761U;  // two rounds of a multiplicative hash
    x = (x ^ x >> 15) * 2246822519U;
    words[i] = ((x ^ x >> 13) & 0x807F807FU) | 0x3F003F00U;
  }
}

}  // namespace

void fill_with_numbers(std::byte* data, std::int64_t bytes, cudaStream_t stream) {
  const std::int64_t words = bytes / 4;
  if (words == 0) return;
  LaunchShape shape;
  shape.grid.x = static_cast<unsigned>(std::min<std::int64_t>((words + kThreads - 1) / kThreads, kMostBlocks));
  shape.block.x = kThreads;
  check(launch(fill_kernel, shape, stream, reinterpret_cast<std::uint32_t*>(data), words), "filling memory");
}

}  // namespace attn::cuda
