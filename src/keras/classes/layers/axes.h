// Axes of a config, which may be negative, against the axes of a tensor.
#pragma once

#include <vector>

#include "config/fields.h"

namespace attn::keras {

/// `axis` counted from the front. Throws Error (bad_input) where it is outside of `rank` axes.
[[nodiscard]] int axis_of(std::int64_t axis, int rank);
/// The same for an axis or a list of them: ascending, each once.
[[nodiscard]] std::vector<int> axes_of(const Axes& axes, int rank);
/// The axes as a list, as written.
[[nodiscard]] std::vector<std::int64_t> listed(const Axes& axes);

}  // namespace attn::keras
