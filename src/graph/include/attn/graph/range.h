// Python's slices, resolved for an axis.
#pragma once

#include <cstdint>

#include "attn/base/shape.h"
#include "attn/graph/op.h"

namespace attn::graph {

/// The elements start, start + step, … of an axis. There are `count` of them, all inside the axis.
struct ResolvedSlice {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// Resolves `range` for an axis of `dim` (known) elements: Python's range(*slice(start, stop, step).indices(dim)).
/// Throws Error (bad_input) if the step is 0.
[[nodiscard]] ResolvedSlice pick(const Range& range, Dim dim);

}  // namespace attn::graph
