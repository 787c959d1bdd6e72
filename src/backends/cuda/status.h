// Polling the GPU for the completion of work.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace attn::cuda {

/// Returns CUDA's status of a stream or an event once it is done or has failed. Throws Error (no_device), with `doing`,
/// if that takes longer than `seconds`. The GPU then counts as lost: nothing on it is freed, because CUDA would wait
/// for the same work. The end of the process frees everything.
[[nodiscard]] cudaError_t status_of(cudaStream_t stream, double seconds, std::string_view doing);
[[nodiscard]] cudaError_t status_of(cudaEvent_t event, double seconds, std::string_view doing);

[[nodiscard]] bool is_gpu_lost() noexcept;

}  // namespace attn::cuda
