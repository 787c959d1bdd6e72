// The CUDA runtime and cuBLASLt, as far as the backend calls them, on host memory, with injected faults.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

namespace attn::simt {

/// Runs work now, or records it if the stream is capturing; `is_kernel` is set for a kernel or a product. Returns an
/// error if the stream belongs to another GPU than the calling thread's current one, as CUDA does.
cudaError_t submit(cudaStream_t stream, std::function<void()> work, bool is_kernel = false);

/// The properties of the emulated machine; tests change and restore them.
struct Machine {
  int devices = 1;
  int major = 9, minor = 0;
  std::int64_t shared_bytes = 227 * 1024;  ///< limit per block
  unsigned cluster = 16;                   ///< largest cluster, in blocks
  std::int64_t total_bytes = std::int64_t{1} << 36;
  std::int64_t used_bytes = 0;       ///< currently allocated
  std::int64_t allocations = 0;      ///< cudaMalloc calls so far
  std::int64_t fail_allocation = 0;  ///< the number of the cudaMalloc call that fails; 0: none
  std::int64_t graph_launches = 0;
  std::int64_t recorded_copies = 0;      ///< cudaMemcpyAsync calls while a pass was recorded
  std::int64_t recorded = 0;             ///< kernels and products recorded into passes so far
  bool idle = false;                     ///< kernels and products are counted but not run
  bool hangs = false;                    ///< no stream becomes ready any more
  std::int64_t submitted = 0;            ///< items of work on streams so far: launches, copies, whole recordings
  std::int64_t hang_at = 0;              ///< the item that never ends, with everything after it; 0: none
  std::int64_t blocked_calls = 0;        ///< calls that would have waited for hanging work
  std::int64_t products = 0;             ///< cublasLtMatmul calls so far
  std::uint64_t refused_algorithm = 0;   ///< the algorithm that cublasLtMatmul proposes but does not launch; 0: none
  bool slow_products = false;            ///< cublasLtMatmul's products take milliseconds
  bool relu_loses_nan = false;           ///< cublasLtMatmul's relu gives 0 for NaN
  std::int32_t largest_batch = 0;        ///< largest batch of a product so far
  cudaError_t next_error = cudaSuccess;  ///< the error that the next synchronization reports
};
[[nodiscard]] Machine& machine();

}  // namespace attn::simt
