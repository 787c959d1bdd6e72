// How a pass runs: its steps, and where their results lie in memory.
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

/// The steps as a table, what passes did, and a picture of the arena, offsets across and steps down, of at most
/// `columns` cells.
[[nodiscard]] std::string plan_text(const PlanReport& report, int columns);

/// "attn.plan/1"
[[nodiscard]] std::string plan_json(const PlanReport& report);

/// The arena, offsets across and steps down, light or dark as its reader prefers.
[[nodiscard]] std::string plan_svg(const PlanReport& report);

}  // namespace attn::report
