// GEMVs of a few rows with a weight that is read as stored.
#pragma once

#include "kernel.h"

namespace attn::backends::cpu {

/// Returns the kernel for x (…, depth) · w (width, depth)ᵀ.
[[nodiscard]] std::string why_not_gemv(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_gemv(const Step& step);

}  // namespace attn::backends::cpu
