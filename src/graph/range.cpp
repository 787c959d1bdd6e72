#include "attn/graph/range.h"

#include <algorithm>
#include <limits>

#include "attn/base/error.h"

namespace attn::graph {

ResolvedSlice pick(const Range& range, Dim dim) {
  // Python's slice.indices: https://github.com/python/cpython/blob/main/Objects/sliceobject.c
  if (range.step == 0) throw bad_input("the step of a slice is 0");
  const bool forward = range.step > 0;
  // The least value has no positive counterpart; one more selects the same elements, since no axis is that long.
  const std::int64_t step = std::max(range.step, -std::numeric_limits<std::int64_t>::max());
  const Dim lowest = forward ? 0 : -1;
  const Dim highest = forward ? dim : dim - 1;
  const auto clamp = [&](std::int64_t bound) { return std::clamp(bound < 0 ? bound + dim : bound, lowest, highest); };
  const std::int64_t start = range.start ? clamp(*range.start) : (forward ? lowest : highest);
  const std::int64_t stop = range.stop ? clamp(*range.stop) : (forward ? highest : lowest);
  const std::int64_t distance = forward ? stop - start : start - stop;
  const std::int64_t stride = forward ? step : -step;
  return {start, step, distance > 0 ? (distance - 1) / stride + 1 : 0};
}

}  // namespace attn::graph
