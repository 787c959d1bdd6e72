// The CUDA runtime and cuBLASLt, as far as the backend calls them, on host memory; with faults on request.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

namespace attn::simt {

/// Runs work now, or records it where the stream is capturing: `is_kernel` where it is a kernel or a product. An error
/// where the stream is of another GPU than the calling thread's, as launches are in CUDA.
cudaError_t submit(cudaStream_t stream, std::function<void()> work, bool is_kernel = false);

/// What the emulated machine is like; tests change it and put it back.
struct Machine {
  int devices = 1;
  int major = 9, minor = 0;
  std::int64_t shared_bytes = 227 * 1024;  ///< that a block may ask for
  unsigned cluster = 16;                   ///< blocks that a cluster may have
  std::int64_t total_bytes = std::int64_t{1} << 36;
  std::int64_t used_bytes = 0;       ///< allocated now
  std::int64_t allocations = 0;      ///< cudaMalloc calls so far
  std::int64_t fail_allocation = 0;  ///< the number of the cudaMalloc call that fails; 0: none
  std::int64_t graph_launches = 0;
  std::int64_t recorded_copies = 0;      ///< cudaMemcpyAsync calls while a pass was recorded
  std::int64_t recorded = 0;             ///< kernels and products recorded into passes so far
  bool idle = false;                     ///< kernels and products are counted and not run
  bool hangs = false;                    ///< no stream becomes ready any more
  std::int64_t submitted = 0;            ///< pieces of work on streams so far: launches, copies, whole recordings
  std::int64_t hang_at = 0;              ///< the piece that never ends, with all that is behind it; 0: none
  std::int64_t blocked_calls = 0;        ///< that would have waited for what never ends
  std::int64_t products = 0;             ///< cublasLtMatmul calls so far
  std::uint64_t refused_algorithm = 0;   ///< which cublasLtMatmul proposes and does not launch; 0: none
  bool slow_products = false;            ///< cublasLtMatmul's products take milliseconds
  bool relu_loses_nan = false;           ///< cublasLtMatmul's relu gives 0 for NaN
  std::int32_t largest_batch = 0;        ///< of a product so far
  cudaError_t next_error = cudaSuccess;  ///< what the next synchronisation reports
};
[[nodiscard]] Machine& machine();

}  // namespace attn::simt
