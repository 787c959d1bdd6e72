// What the next step reads packed, or as bytes, before its product: the step before leaves it so, and it is never
// stored in rows where nothing else reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attn/plan/plan.h"
#include "step.h"

namespace attn::backends::cpu {

/// What a step leaves for the next one.
struct Handed {
  std::int64_t bytes = 0;                      ///< 0: nothing
  std::optional<graph::IntegerRange> range{};  ///< of rows as bytes
};

/// By step of the plan.
[[nodiscard]] std::vector<Handed> handovers(const plan::Plan& plan, const Machine& machine);

}  // namespace attn::backends::cpu
