// The implementation of attn::Runner.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attn/attn.h"
#include "attn/backends/backend.h"
#include "attn/graph/graph.h"
#include "attn/open/execution.h"
#include "attn/run/session.h"

namespace attn {

struct Runner::Parts {
  graph::Graph graph;  // the lowered graph
  open::Execution execution;
  std::string weights_origin;
  std::unique_ptr<backends::Backend> backend;
  std::vector<Tensor> weights;            // kept if each pass is compiled for the shapes of its inputs
  std::unique_ptr<run::Session> session;  // null before the first pass if each pass is compiled for its inputs

  void run(std::vector<Tensor> inputs);
};

}  // namespace attn
