// Fusion of two steps of a plan into one kernel.
#pragma once

#include <optional>

#include "kernel.h"

namespace attn::cuda {

/// Returns a kernel that does the work of `first` and `second`. `second` reads the result of `first`; if other steps
/// read it too (`first_is_kept`), the kernel also writes that result. Empty if the two steps cannot be fused, or if the
/// result of `second` overlaps memory that `first` still reads.
[[nodiscard]] std::optional<Choice> fuse(const Step& first, const Step& second, bool first_is_kept);

}  // namespace attn::cuda
