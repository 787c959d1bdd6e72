// Waiting for the GPU, which may never answer.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "attn/graph/graph.h"

namespace attn::cuda {

/// How long work may take before it counts as work that does not end: a thousand times what a GPU takes.
struct Patience {
  double seconds = 60;
  double flops_per_second = 1e10;

  [[nodiscard]] double seconds_for(double flops) const { return seconds + flops / flops_per_second; }
};
/// This process's. Tests shorten it, and put it back.
[[nodiscard]] Patience& patience();
/// What that is for a step, and for a whole pass.
[[nodiscard]] double seconds_allowed(const graph::Graph& graph, const graph::Node& node);
[[nodiscard]] double seconds_allowed(const graph::Graph& graph);

/// Waits until all of a stream, or what was recorded as an event, is done. Throws Error (no_device) with `doing`: with
/// CUDA's words for an error, and as answer_of() where it is not done after `seconds`.
void await(cudaStream_t stream, double seconds, std::string_view doing);
void await(cudaEvent_t event, double seconds, std::string_view doing);

}  // namespace attn::cuda
