// Which tile of queries of which head a block takes, for the kernels that go over tiles of keys.
#pragma once

#include <cmath>
#include <cstdint>

#include "attention.h"
#include "simt.h"

namespace attn::cuda {

/// Blocks go over the heads in groups, within a group over the tiles of queries from the last to the first, and within
/// a tile over the heads of the group. The last tiles are those that take longest where a query sees no later keys.
struct Tiling {
  unsigned tiles = 1;  ///< of queries, of one head
  unsigned heads = 1;  ///< of all batch entries
  unsigned group = 1;  ///< heads of a group

  [[nodiscard]] constexpr unsigned blocks() const { return tiles * heads; }
};

/// How many heads, of at most `limit`, a group has, so that no group is much smaller than the others: the last one
/// would have fewer tiles than there are processors, long ones among them. The largest divisor of the heads, if it is
/// over half of the limit, else groups that are as even as can be.
constexpr unsigned heads_of_group(unsigned limit, unsigned heads) {
  limit = limit < 1 ? 1 : limit > heads ? heads : limit;
  for (unsigned group = limit; 2 * group > limit; --group) {
    if (heads % group == 0) return group;
  }
  const unsigned groups = (heads + limit - 1) / limit;
  return (heads + groups - 1) / groups;
}

struct TilePlace {
  int tile;
  int head;  ///< b·N + n
};

__device__ inline TilePlace place_of(const Tiling& tiling, unsigned block) {
  const unsigned group = block / (tiling.group * tiling.tiles), first = group * tiling.group;
  const unsigned rest = block - first * tiling.tiles;
  const unsigned heads = tiling.heads - first < tiling.group ? tiling.heads - first : tiling.group;
  return {static_cast<int>(tiling.tiles - 1 - rest / heads), static_cast<int>(first + rest % heads)};
}

/// ln Σ exp of a row whose largest score, in powers of two, is `top` and whose Σ 2^(score − top) is `sum`.
__device__ inline float natural_log_sum(float top, float sum) {
  constexpr float kLn2 = 0.69314718056F;
  return (top + log2f(sum)) * kLn2;
}

}  // namespace attn::cuda
