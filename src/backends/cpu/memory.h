// What a plan takes, told before anything is allocated.
#pragma once

#include <cstdint>

#include "attn/plan/plan.h"
#include "multiplication.h"

namespace attn::backends::cpu {

/// As Backend::memory_needed: follows the making of the kernels, with the bytes that each packs and lets go of.
[[nodiscard]] std::int64_t memory_needed(const plan::Plan& plan, int threads, const Multiplication& multiplication);

}  // namespace attn::backends::cpu
