#include "arena.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/base/tensor.h"
#include "attn/plan/bytes.h"

namespace attn::plan {
namespace {

constexpr auto kAlign = static_cast<std::int64_t>(kAlignment);

/// The maximum number of buffers that are placed by size. No real model has more; placing this many, in quadratic time,
/// takes a tenth of a second.
constexpr std::size_t kMostBySize = 10'000;

bool overlap(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

std::int64_t rounded(std::int64_t bytes) { return sum_of_bytes({bytes, kAlign - 1}) / kAlign * kAlign; }

/// Places the largest buffer first, and each at the lowest gap that fits.
Placement by_size(std::span<const Lifetime> lifetimes) {
  Placement placement{std::vector<std::int64_t>(lifetimes.size(), 0), 0};
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });

  struct Placed {
    std::int64_t begin, end;  // bytes, rounded up
    std::size_t index;
  };
  std::vector<Placed> placed;  // ordered by begin
  for (const std::size_t index : order) {
    const Lifetime& lifetime = lifetimes[index];
    if (lifetime.bytes == 0) continue;
    const std::int64_t size = rounded(lifetime.bytes);
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

/// The free gaps between buffers; the space after the last buffer is always free.
class Gaps {
 public:
  /// Takes `size` bytes from the smallest gap that fits, or at the end; returns their offset.
  std::int64_t take(std::int64_t size) {
    const auto best = by_size_.lower_bound({size, 0});
    if (best != by_size_.end()) {
      const auto [bytes, begin] = *best;
      remove(begin, bytes);
      if (bytes > size) add(begin + size, bytes - size);
      return begin;
    }
    std::int64_t begin = end_;
    if (!by_begin_.empty()) {
      const auto [last, bytes] = *by_begin_.rbegin();
      if (last + bytes == end_) {
        begin = last;
        remove(last, bytes);
      }
    }
    end_ = sum_of_bytes({begin, size});
    return begin;
  }

  void give_back(std::int64_t begin, std::int64_t size) {
    const auto next = by_begin_.find(begin + size);
    if (next != by_begin_.end()) {
      const std::int64_t bytes = next->second;
      remove(begin + size, bytes);
      size += bytes;
    }
    const auto after = by_begin_.lower_bound(begin);
    if (after != by_begin_.begin()) {
      const auto [before, bytes] = *std::prev(after);
      if (before + bytes == begin) {
        remove(before, bytes);
        begin = before;
        size += bytes;
      }
    }
    add(begin, size);
  }

  [[nodiscard]] std::int64_t end() const { return end_; }

 private:
  void add(std::int64_t begin, std::int64_t bytes) {
    by_begin_.emplace(begin, bytes);
    by_size_.emplace(bytes, begin);
  }
  void remove(std::int64_t begin, std::int64_t bytes) {
    by_begin_.erase(begin);
    by_size_.erase({bytes, begin});
  }

  std::map<std::int64_t, std::int64_t> by_begin_;            // size in bytes of each gap, by its first byte
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;  // size in bytes and first byte of each gap
  std::int64_t end_ = 0;
};

/// Places buffers in the order of their first steps, as an allocator would when the steps run.
Placement by_time(std::span<const Lifetime> lifetimes) {
  Placement placement{std::vector<std::int64_t>(lifetimes.size(), 0), 0};
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lifetimes[a].first < lifetimes[b].first; });

  Gaps gaps;
  std::set<std::pair<std::int64_t, std::size_t>> living;  // last step and index of live buffers
  for (const std::size_t index : order) {
    const Lifetime& lifetime = lifetimes[index];
    if (lifetime.bytes == 0) continue;
    while (!living.empty() && living.begin()->first < lifetime.first) {
      const std::size_t over = living.begin()->second;
      gaps.give_back(placement.offsets[over], rounded(lifetimes[over].bytes));
      living.erase(living.begin());
    }
    placement.offsets[index] = gaps.take(rounded(lifetime.bytes));
    living.emplace(lifetime.last, index);
  }
  placement.bytes = gaps.end();
  return placement;
}

}  // namespace

Placement place(std::span<const Lifetime> lifetimes) {
  return lifetimes.size() <= kMostBySize ? by_size(lifetimes) : by_time(lifetimes);
}

}  // namespace attn::plan
