// Products whose result the next product alone reads: it is left as that one packs it, and never stored in rows.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/plan/plan.h"
#include "step.h"

namespace attn::backends::cpu {

/// By step of the plan, the bytes of what it hands over packed to the next step; 0 where it stores its output. A step
/// that is handed something hands over nothing, so that one piece of memory serves all.
[[nodiscard]] std::vector<std::int64_t> handovers(const plan::Plan& plan, const Machine& machine);

}  // namespace attn::backends::cpu
