#include "arena.h"

#include <algorithm>
#include <numeric>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/base/tensor.h"
#include "attn/plan/plan.h"

namespace attn::plan {
namespace {

constexpr auto kAlign = static_cast<std::int64_t>(kAlignment);

bool overlap(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

Placement place(std::span<const Lifetime> lifetimes) {
  Placement placement{std::vector<std::int64_t>(lifetimes.size(), 0), 0};
  std::vector<std::size_t> by_size(lifetimes.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });

  struct Placed {
    std::int64_t begin, end;  // bytes, rounded up
    std::size_t index;
  };
  std::vector<Placed> placed;  // by begin
  for (const std::size_t index : by_size) {
    const Lifetime& lifetime = lifetimes[index];
    if (lifetime.bytes == 0) continue;
    const std::int64_t size = sum_of_bytes({lifetime.bytes, kAlign - 1}) / kAlign * kAlign;
    std::int64_t offset = 0;
    for (const Placed& other : placed) {
      if (!overlap(lifetimes[other.index], lifetime)) continue;
      if (other.begin - offset >= size) break;
      offset = std::max(offset, other.end);
    }
    const Placed mine{offset, sum_of_bytes({offset, size}), index};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), mine,
                                   [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
                  mine);
    placement.offsets[index] = mine.begin;
    placement.bytes = std::max(placement.bytes, mine.end);
  }
  return placement;
}

}  // namespace attn::plan
