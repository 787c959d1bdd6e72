// What ranks do together, of values on the GPU: by NCCL on the stream, or by way of the host where they meet there.
#pragma once

#include <optional>

#include "attn/graph/graph.h"
#include "choose.h"
#include "kernel.h"

namespace attn::cuda {

/// One collective of a plan.
struct Meeting {
  Launch launch;
  std::string name;              ///< "nccl", "over the host"
  bool can_be_recorded = false;  ///< over the host the stream has to be waited for
  communicators::Collective collective = communicators::Collective::all_reduce;
  std::int64_t bytes = 0;  ///< as the communicator counts them
};

/// Of a step whose operation is a collective: every rank launches it, one without elements of its own too. `ranks` is
/// null where there is one. `step`'s operands stay where they are, `graph` as it is.
[[nodiscard]] Meeting make_meeting(const Step& step, const graph::Graph& graph, communicators::Communicator* ranks);

}  // namespace attn::cuda
