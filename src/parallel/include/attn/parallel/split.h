// How an array is shared out: along one axis, rank after rank.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/base/shape.h"

namespace attn::parallel {

/// Part r of an array are sizes[r] indices of `axis`, behind those of the ranks before.
struct Split {
  int axis = 0;
  std::vector<Dim> sizes;

  [[nodiscard]] int ranks() const { return static_cast<int>(sizes.size()); }
  [[nodiscard]] Dim from(int rank) const;
  [[nodiscard]] Dim size(int rank) const { return sizes[static_cast<std::size_t>(rank)]; }
  // NOLINTNEXTLINE(modernize-use-nullptr): none is meant
  friend auto operator<=>(const Split&, const Split&) = default;
};

/// `count` things in a row for `ranks`: rank r has [⌊r·count/ranks⌋, ⌊(r+1)·count/ranks⌋).
[[nodiscard]] std::vector<Dim> shares(Dim count, int ranks);

/// An axis of `size` whose indices belong together in `groups` equal ones, as those of a head. Where each index is a
/// group of its own and there are many, they are shared out in blocks of 64, which kernels like.
[[nodiscard]] std::vector<Dim> shares_of_axis(Dim size, Dim groups, int ranks);

/// The largest share's part of an even one: 16 heads on 3 ranks are 0.89.
[[nodiscard]] double evenness(const std::vector<Dim>& sizes);

}  // namespace attn::parallel
