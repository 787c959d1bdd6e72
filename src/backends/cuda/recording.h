// Work recorded as a CUDA graph.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

namespace attn::cuda {

struct DestroyGraph {
  void operator()(cudaGraphExec_t graph) const noexcept;
};
using GraphExec = std::unique_ptr<CUgraphExec_st, DestroyGraph>;

/// What `work` puts on the stream, ready to be launched again and again. Throws what `work` throws, and Error.
[[nodiscard]] GraphExec record(cudaStream_t stream, const std::function<void()>& work);

}  // namespace attn::cuda
