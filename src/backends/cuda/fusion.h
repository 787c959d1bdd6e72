// Two steps of a plan as one kernel.
#pragma once

#include <optional>

#include "kernel.h"

namespace attn::cuda {

/// A kernel that does the work of `first` and `second`, of which the second alone reads what the first makes (where
/// `first_is_kept`, others read it too, so it is written as well). Nothing where the two do not go together, or where
/// the second's result lies over memory that the first still reads.
[[nodiscard]] std::optional<Choice> fuse(const Step& first, const Step& second, bool first_is_kept);

}  // namespace attn::cuda
