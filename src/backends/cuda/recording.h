// Capture of work as a CUDA graph.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

namespace attn::cuda {

struct DestroyGraph {
  void operator()(cudaGraphExec_t graph) const noexcept;
};
using GraphExec = std::unique_ptr<CUgraphExec_st, DestroyGraph>;

/// Captures the work that `work` puts on the stream as a graph for repeated launches. Throws Error, and any exception
/// of `work`.
[[nodiscard]] GraphExec record(cudaStream_t stream, const std::function<void()>& work);

}  // namespace attn::cuda
