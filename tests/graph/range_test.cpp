#include "attn/graph/range.h"

#include <doctest/doctest.h>

#include <vector>

using namespace attn::graph;

namespace {

// Python's rules spelled out: negative bounds count from the end; stops at the end of the axis or at the bound.
std::vector<std::int64_t> walk(const Range& range, std::int64_t dim) {
  std::vector<std::int64_t> picked;
  const auto bound = [dim](std::int64_t at) { return at < 0 ? at + dim : at; };
  if (range.step > 0) {
    for (std::int64_t i = range.start ? bound(*range.start) : 0; i < (range.stop ? bound(*range.stop) : dim);
         i += range.step) {
      if (i < 0) i = 0;  // a start before the axis begins with its first element
      if (i >= dim || (range.stop && i >= bound(*range.stop))) break;
      picked.push_back(i);
    }
  } else {
    std::int64_t i = range.start ? bound(*range.start) : dim - 1;
    if (i >= dim) i = dim - 1;
    for (; i >= 0 && (!range.stop || i > bound(*range.stop)); i += range.step) picked.push_back(i);
  }
  return picked;
}

}  // namespace

TEST_CASE("range: every small slice selects the elements that Python selects") {
  std::vector<std::optional<std::int64_t>> bounds{std::nullopt};
  for (std::int64_t bound = -7; bound <= 7; ++bound) bounds.emplace_back(bound);
  for (std::int64_t dim = 0; dim <= 5; ++dim) {
    for (const auto& start : bounds) {
      for (const auto& stop : bounds) {
        for (std::int64_t step = -4; step <= 4; ++step) {
          if (step == 0) continue;
          const Range range{start, stop, step};
          const ResolvedSlice picked = pick(range, dim);
          std::vector<std::int64_t> elements;
          for (std::int64_t i = 0; i < picked.count; ++i) elements.push_back(picked.start + i * picked.step);
          REQUIRE(elements == walk(range, dim));
        }
      }
    }
  }
}
