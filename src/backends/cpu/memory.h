// The memory of a plan, computed before any allocation.
#pragma once

#include <cstdint>

#include "attn/plan/plan.h"
#include "step.h"

namespace attn::backends::cpu {

/// Additional memory: the program's own pages; and the code of oneDNN, if it makes primitives.
inline constexpr std::int64_t kProgramBytes = 3 << 20, kLibraryBytes = 9 << 20;

/// Implements Backend::memory_needed: simulates the making of the kernels, with the sizes from their records.
[[nodiscard]] std::int64_t memory_needed(const plan::Plan& plan, const Machine& machine);

}  // namespace attn::backends::cpu
