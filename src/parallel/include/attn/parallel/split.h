// The sharding of an array: along one axis, in rank order.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/base/shape.h"

namespace attn::parallel {

/// Shards of an array along `axis`: shard r has sizes[r] indices, which follow those of lower ranks.
struct Split {
  int axis = 0;
  std::vector<Dim> sizes;

  [[nodiscard]] int ranks() const { return static_cast<int>(sizes.size()); }
  [[nodiscard]] Dim from(int rank) const;
  [[nodiscard]] Dim size(int rank) const { return sizes[static_cast<std::size_t>(rank)]; }
  // a null pointer is not meant
  friend auto operator<=>(const Split&, const Split&) = default;
};

/// Distributes `count` items over `ranks`: rank r gets [⌊r·count/ranks⌋, ⌊(r+1)·count/ranks⌋).
[[nodiscard]] std::vector<Dim> shares(Dim count, int ranks);

/// Distributes an axis of `size` over ranks. It consists of `groups` equal groups of indices that must stay together,
/// such as heads. If each index is a group of its own and there are many, shards are multiples of 64, which kernels
/// prefer.
[[nodiscard]] std::vector<Dim> shares_of_axis(Dim size, Dim groups, int ranks);

/// Returns an even shard divided by the largest one: 16 heads on 3 ranks give 0.89.
[[nodiscard]] double evenness(const std::vector<Dim>& sizes);

}  // namespace attn::parallel
