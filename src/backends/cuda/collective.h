// Collectives over values on the GPU: by NCCL on the stream, or through the host.
#pragma once

#include <optional>

#include "attn/graph/graph.h"
#include "choose.h"
#include "kernel.h"

namespace attn::cuda {

/// One collective of a plan.
struct CollectiveLaunch {
  Launch launch;
  std::string name;              ///< "nccl", "over the host"
  bool can_be_recorded = false;  ///< a collective through the host synchronizes the stream
  communicators::Collective collective = communicators::Collective::all_reduce;
  std::int64_t bytes = 0;  ///< bytes as the communicator counts them
};

/// Makes the launch of a collective operation. Every rank launches it, even one without elements. `ranks` is null for a
/// single rank. The operands of `step` must keep their addresses, and `graph` must not change.
[[nodiscard]] CollectiveLaunch make_collective(const Step& step, const graph::Graph& graph,
                                               communicators::Communicator* ranks);

}  // namespace attn::cuda
