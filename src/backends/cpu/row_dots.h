// Products of a few rows by a weight that is read as it is stored.
#pragma once

#include "kernel.h"

namespace attn::backends::cpu {

/// x (…, depth) · w (width, depth)ᵀ.
[[nodiscard]] std::string why_not_row_dots(const StepInfo& step);
[[nodiscard]] std::unique_ptr<Kernel> make_row_dots(const Step& step);

}  // namespace attn::backends::cpu
