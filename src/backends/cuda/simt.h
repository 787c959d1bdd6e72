// The interface for which every kernel is written: CUDA's device language, and a launch that also works without a GPU.
//
// The kernels are compiled twice: by nvcc for the GPU, and by the C++ compiler for the tests, where an emulator runs
// the threads of a block as fibers (tests/cuda_emulated). Kernels therefore allocate shared memory only through
// shared_memory(), and call instructions without a C++ form by the names of ptx.h.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

#ifdef ATTN_CUDA_EMULATED
#include "emulator.h"
#endif

namespace attn::cuda {

/// The launch configuration of a kernel. Every kernel may start before the previous one has ended (programmatic
/// dependent launch). Each thread therefore calls wait_for_previous_kernel() before it accesses memory that the pass
/// writes; before that it may read only weights. Even a thread without work must wait before it exits. Otherwise the
/// next kernel would rely on earlier work that may not have ended.
struct LaunchShape {
  dim3 grid{1};
  dim3 block{1};
  std::size_t shared_bytes = 0;
  unsigned cluster = 1;  ///< number of blocks along x that run concurrently and share their memory; needs sm_90
};

#if defined(ATTN_CUDA_EMULATED)

template <typename T>
T* shared_memory() {
  return reinterpret_cast<T*>(simt::shared_memory());
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                   Arguments&&... arguments) {
  return simt::enqueue({shape.grid, shape.block, shape.shared_bytes, shape.cluster}, stream,
                       [kernel, ... held = Parameters(std::forward<Arguments>(arguments))] { kernel(held...); });
}

template <typename... Parameters>
bool can_be_launched(void (*)(Parameters...), const LaunchShape& shape) {
  return shape.cluster <= simt::machine_cluster();
}

inline void wait_for_previous_kernel() { simt::has_waited(); }
inline void let_next_kernel_start() {}

#elif defined(__CUDACC__)

/// Returns the block's dynamic shared memory, aligned for TMA.
template <typename T>
__device__ __forceinline__ T* shared_memory() {
  extern __shared__ __align__(1024) unsigned char attn_shared_bytes[];
  return reinterpret_cast<T*>(attn_shared_bytes);
}

/// Returns whether the code of a kernel for this GPU contains the wait of wait_for_previous_kernel(). Code for sm_80
/// does not, and neither does the driver's compilation of its PTX for a newer GPU.
inline cudaError_t waits_for_previous_kernel(const void* kernel, bool& waits) {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  waits = attributes.ptxVersion >= 90;  // __CUDA_ARCH__ / 10, also for code compiled to machine code
  return error;
}

/// Allows shared memory above the default 48 KiB, and clusters above the 8 blocks that every GPU with clusters
/// supports.
inline cudaError_t allow(const void* kernel, const LaunchShape& shape) {
  if (shape.shared_bytes > 48 * 1024) {
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
    if (error != cudaSuccess) return error;
  }
  return shape.cluster > 8 ? cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1)
                           : cudaSuccess;
}

inline cudaLaunchConfig_t config_of(const LaunchShape& shape) {
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  return config;
}

inline cudaLaunchAttribute cluster_attribute(const LaunchShape& shape) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = shape.cluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  return attribute;
}

/// Returns whether the GPU can schedule a cluster of the kernel's blocks. Some of its GPCs may have fewer processors
/// than others.
template <typename... Parameters>
bool can_be_launched(void (*kernel)(Parameters...), const LaunchShape& shape) {
  const auto* const code = reinterpret_cast<const void*>(kernel);
  cudaLaunchAttribute attribute = cluster_attribute(shape);
  cudaLaunchConfig_t config = config_of(shape);
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  const bool asked =
      allow(code, shape) == cudaSuccess && cudaOccupancyMaxActiveClusters(&clusters, code, &config) == cudaSuccess;
  if (!asked) (void)cudaGetLastError();  // clears the error, because the answer is no
  return asked && clusters > 0;
}

/// Launches a kernel on a stream, which may be capturing.
template <typename... Parameters, typename... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                   Arguments&&... arguments) {
  const auto* const code = reinterpret_cast<const void*>(kernel);
  if (const cudaError_t error = allow(code, shape); error != cudaSuccess) return error;
  bool overlaps = false;  // a launch is recorded once, so the result is not cached
  if (const cudaError_t error = waits_for_previous_kernel(code, overlaps); error != cudaSuccess) return error;
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = config_of(shape);
  config.stream = stream;
  config.attrs = attributes;
  if (overlaps) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  if (shape.cluster > 1) attributes[config.numAttrs++] = cluster_attribute(shape);
  return cudaLaunchKernelEx(&config, kernel, Parameters(std::forward<Arguments>(arguments))...);
}

/// Waits until the previous kernels of the stream have ended and their writes are visible. A no-op below sm_90, where
/// launch() never allows overlap.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the next kernel of the stream begin when every block of this one has made this call or ended.
__device__ __forceinline__ void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

#endif

}  // namespace attn::cuda
