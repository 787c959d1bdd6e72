// Converts axes in a config, which may be negative, for a tensor.
#pragma once

#include <vector>

#include "config/fields.h"

namespace attn::keras {

/// Returns `axis` counted from the front. Throws Error (bad_input) if it is outside `rank` axes.
[[nodiscard]] int axis_of(std::int64_t axis, int rank);
/// Returns an axis or a list of axes counted from the front, ascending. Throws Error (bad_input) for an axis outside
/// `rank` axes, or listed twice.
[[nodiscard]] std::vector<int> axes_of(const Axes& axes, int rank);
/// Returns the axes as a list, unchanged.
[[nodiscard]] std::vector<std::int64_t> listed(const Axes& axes);

}  // namespace attn::keras
