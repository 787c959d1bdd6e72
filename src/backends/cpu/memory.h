// What a plan takes, told before anything is allocated.
#pragma once

#include <cstdint>

#include "attn/plan/plan.h"
#include "step.h"

namespace attn::backends::cpu {

/// As Backend::memory_needed: follows the making of the kernels, with the bytes that their records name.
[[nodiscard]] std::int64_t memory_needed(const plan::Plan& plan, const Machine& machine);

}  // namespace attn::backends::cpu
