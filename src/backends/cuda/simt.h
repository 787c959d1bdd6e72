// What every kernel is written against: CUDA's device language, and a launch that also runs where there is no GPU.
//
// The kernels are compiled twice: by nvcc for the GPU, and by the C++ compiler for the tests, where an emulator runs
// the threads of a block as fibers (tests/cuda_emulated). So kernels keep to this: shared memory comes from
// shared_memory() alone, and instructions that have no C++ form are called by the names of ptx.h.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

#ifdef ATTN_CUDA_EMULATED
#include "emulator.h"
#endif

namespace attn::cuda {

/// How a kernel is launched.
struct LaunchShape {
  dim3 grid{1};
  dim3 block{1};
  std::size_t shared_bytes = 0;
  /// Programmatic dependent launch: the kernel may start before the one ahead of it has ended, and calls
  /// wait_for_previous_kernel() before it reads what that one writes. Such a kernel is slower to write wrong than
  /// right: every read and write of global memory comes after the wait.
  bool overlap = false;
};

#if defined(ATTN_CUDA_EMULATED)

template <typename T>
T* shared_memory() {
  return reinterpret_cast<T*>(simt::shared_memory());
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                   Arguments&&... arguments) {
  return simt::enqueue({shape.grid, shape.block, shape.shared_bytes, shape.overlap}, stream,
                       [kernel, ... held = Parameters(std::forward<Arguments>(arguments))] { kernel(held...); });
}

inline void wait_for_previous_kernel() { simt::has_waited(); }
inline void let_next_kernel_start() {}

#elif defined(__CUDACC__)

/// The block's dynamic shared memory, aligned for TMA.
template <typename T>
__device__ __forceinline__ T* shared_memory() {
  extern __shared__ __align__(1024) unsigned char attn_shared_bytes[];
  return reinterpret_cast<T*>(attn_shared_bytes);
}

/// Whether the code of a kernel that runs on this GPU has the wait of wait_for_previous_kernel(): not that of sm_80,
/// nor what the driver compiles from its PTX for a newer GPU.
inline cudaError_t waits_for_previous_kernel(const void* kernel, bool& waits) {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  waits = attributes.ptxVersion >= 90;  // __CUDA_ARCH__ / 10, also of what was compiled to machine code
  return error;
}

/// Puts a kernel on a stream, which may be capturing. Asks for shared memory beyond the default 48 KiB.
template <typename... Parameters, typename... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                   Arguments&&... arguments) {
  const auto* const code = reinterpret_cast<const void*>(kernel);
  if (shape.shared_bytes > 48 * 1024) {
    const cudaError_t error =
        cudaFuncSetAttribute(code, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
    if (error != cudaSuccess) return error;
  }
  bool overlaps = shape.overlap;
  if (overlaps) {  // a launch is recorded once: what is asked here need not be kept
    if (const cudaError_t error = waits_for_previous_kernel(code, overlaps); error != cudaSuccess) return error;
  }
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = overlaps ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, Parameters(std::forward<Arguments>(arguments))...);
}

/// Until the kernels ahead in the stream have ended and their writes are seen. A no-op in code for less than sm_90,
/// which launch() therefore never lets overlap.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the next kernel of the stream begin, where it was launched with `overlap`.
__device__ __forceinline__ void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

#endif

}  // namespace attn::cuda
