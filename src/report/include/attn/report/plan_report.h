// How a pass runs, as plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "attn/plan/plan.h"
#include "attn/report/values.h"

namespace attn::report {

/// What runs a step.
struct StepKernel {
  std::string name;  ///< "onednn matmul"
  std::string why;   ///< why others do not, or ""
};

struct PlanReport {
  Setting setting;
  graph::Graph lowered;                         ///< as the layers made it; without weights' numbers
  plan::Plan plan;                              ///< of what the backend made of it
  std::int64_t memory_bytes = 0;                ///< the most of the host's memory that preparing and running hold
  std::map<graph::NodeId, StepKernel> kernels;  ///< of the steps, where they were asked for
};

}  // namespace attn::report
