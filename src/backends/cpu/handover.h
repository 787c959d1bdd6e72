// Handover between steps. If the next step packs or quantizes its input, the previous step writes its output in that
// form. The plain rows are stored only if another step reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attn/plan/plan.h"
#include "step.h"

namespace attn::backends::cpu {

/// The data that a step leaves for the next one.
struct HandoverSpec {
  std::int64_t bytes = 0;                      ///< 0: the step leaves nothing
  std::optional<graph::IntegerRange> range{};  ///< the range for quantized rows
};

/// Returns the handover of each step of the plan.
[[nodiscard]] std::vector<HandoverSpec> handovers(const plan::Plan& plan, const Machine& machine);

}  // namespace attn::backends::cpu
