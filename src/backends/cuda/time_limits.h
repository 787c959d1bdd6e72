// Bounded waits for the GPU, which may hang.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "attn/graph/graph.h"

namespace attn::cuda {

/// The time limits after which work counts as hanging: a thousand times what a GPU needs.
struct TimeLimits {
  double seconds = 60;
  double flops_per_second = 1e10;

  [[nodiscard]] double seconds_for(double flops) const { return seconds + flops / flops_per_second; }
};
/// Returns the limits of this process. Tests shorten and restore them.
[[nodiscard]] TimeLimits& time_limits();
/// Returns the limit in seconds: for a step, and for a whole pass.
[[nodiscard]] double seconds_allowed(const graph::Graph& graph, const graph::Node& node);
[[nodiscard]] double seconds_allowed(const graph::Graph& graph);

/// Waits until a stream, or the work before an event, is done. Throws Error (no_device) with `doing`, and with CUDA's
/// description if the work failed; or as status_of() does if it is not done after `seconds`.
void await(cudaStream_t stream, double seconds, std::string_view doing);
void await(cudaEvent_t event, double seconds, std::string_view doing);

}  // namespace attn::cuda
