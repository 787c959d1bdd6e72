// The assignment of tiles of queries and heads to blocks, for the kernels that iterate over tiles of keys.
#pragma once

#include <cmath>
#include <cstdint>

#include "attention.h"
#include "simt.h"

namespace attn::cuda {

/// Blocks are ordered by group of heads, then by tile of queries from last to first, then by head of the group. The
/// last tiles take longest under causal masks, so they start first.
struct Tiling {
  unsigned tiles = 1;  ///< tiles of queries per head
  unsigned heads = 1;  ///< heads of all batch entries
  unsigned group = 1;  ///< heads per group

  [[nodiscard]] constexpr unsigned blocks() const { return tiles * heads; }
};

/// Returns the number of heads per group, at most `limit`, such that no group is much smaller than the others. A small
/// last group would leave processors idle during its long tiles. The result is the largest divisor of `heads` if it
/// exceeds half of the limit; otherwise groups are as even as possible.
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

/// Returns ln Σ exp of a row whose maximum score is `top` in base 2, with Σ 2^(score − top) = `sum`.
__device__ inline float natural_log_sum(float top, float sum) {
  constexpr float kLn2 = 0.69314718056F;
  return (top + log2f(sum)) * kLn2;
}

}  // namespace attn::cuda
