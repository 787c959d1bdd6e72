// Converts axes in a config, which may be negative, for a tensor.
#pragma once

#include <vector>

#include "config/fields.h"

namespace attn::keras {

/// Counts `axis` from the front. Throws Error (bad_input) if it is outside `rank` axes.
[[nodiscard]] int axis_of(std::int64_t axis, int rank);
/// Counts an axis or a list of axes from the front: ascending and unique. Throws Error (bad_input) for an axis outside
/// `rank` axes, or listed twice.
[[nodiscard]] std::vector<int> axes_of(const Axes& axes, int rank);
/// The axes as a list, unchanged.
[[nodiscard]] std::vector<std::int64_t> listed(const Axes& axes);

}  // namespace attn::keras
