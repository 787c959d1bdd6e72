// What a plan takes, told before anything is allocated.
#pragma once

#include <cstdint>

#include "attn/plan/plan.h"
#include "step.h"

namespace attn::backends::cpu {

/// What is told on top of what is allocated: the program's own pages, and where oneDNN makes primitives, its code and
/// theirs.
inline constexpr std::int64_t kProgramBytes = 3 << 20, kLibraryBytes = 9 << 20;

/// As Backend::memory_needed: follows the making of the kernels, with the bytes that their records name.
[[nodiscard]] std::int64_t memory_needed(const plan::Plan& plan, const Machine& machine);

}  // namespace attn::backends::cpu
