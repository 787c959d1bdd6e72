#include "time_limits.h"

#include "device.h"
#include "status.h"

namespace attn::cuda {

TimeLimits& time_limits() {
  static TimeLimits it;
  return it;
}

double seconds_allowed(const graph::Graph& graph, const graph::Node& node) {
  return time_limits().seconds_for(static_cast<double>(graph::flops(graph, node)));
}
double seconds_allowed(const graph::Graph& graph) {
  double flops = 0;
  for (const graph::Node& node : graph.nodes) flops += static_cast<double>(graph::flops(graph, node));
  return time_limits().seconds_for(flops);
}

void await(cudaStream_t stream, double seconds, std::string_view doing) {
  check(status_of(stream, seconds, doing), doing);
}
void await(cudaEvent_t event, double seconds, std::string_view doing) {
  check(status_of(event, seconds, doing), doing);
}

}  // namespace attn::cuda
