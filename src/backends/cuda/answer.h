// Asking the GPU whether it is done, as often as need be.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace attn::cuda {

/// What CUDA says of a stream or an event when it is done, or failed. Throws Error (no_device), with `doing`, where
/// that takes longer than `seconds`. Then the GPU counts as lost: nothing on it is given back, as CUDA would wait for
/// the same work, and all of it goes with the process.
[[nodiscard]] cudaError_t answer_of(cudaStream_t stream, double seconds, std::string_view doing);
[[nodiscard]] cudaError_t answer_of(cudaEvent_t event, double seconds, std::string_view doing);

[[nodiscard]] bool is_gpu_lost() noexcept;

}  // namespace attn::cuda
