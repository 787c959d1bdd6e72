#include "recording.h"

#include "device.h"
#include "status.h"

namespace attn::cuda {

void DestroyGraph::operator()(cudaGraphExec_t graph) const noexcept {
  if (!is_gpu_lost()) (void)cudaGraphExecDestroy(graph);
}

GraphExec record(cudaStream_t stream, const std::function<void()>& work) {
  // Relaxed mode is required, because CUDA loads a kernel's code at its first launch, which other modes reject during a
  // capture.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "recording a pass");
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    (void)cudaStreamEndCapture(stream, &graph);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    throw;
  }
  check(cudaStreamEndCapture(stream, &graph), "recording a pass");
  cudaGraphExec_t exec = nullptr;
  const cudaError_t error = cudaGraphInstantiate(&exec, graph, 0);
  (void)cudaGraphDestroy(graph);
  check(error, "preparing a pass");
  return GraphExec(exec);
}

}  // namespace attn::cuda
