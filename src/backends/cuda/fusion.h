// Fusion of two steps of a plan into one kernel.
#pragma once

#include <optional>

#include "kernel.h"

namespace attn::cuda {

/// Returns a kernel that does the work of `first` and `second`, where `second` is the only reader of the result of
/// `first` (if `first_is_kept`, others read it too, so it is written as well). Returns nothing if the two cannot be
/// fused, or if the second's result overlaps memory that the first still reads.
[[nodiscard]] std::optional<Choice> fuse(const Step& first, const Step& second, bool first_is_kept);

}  // namespace attn::cuda
