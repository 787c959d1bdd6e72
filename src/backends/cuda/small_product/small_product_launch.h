// What the kernel of small products is given, and who makes the launch.
#pragma once

#include <cuda.h>

#include "kernel.h"
#include "small_product.h"

namespace attn::cuda {

/// Blocks of a cluster share the columns of its tile, side by side, and the sums over K, in parts.
struct SmallTiling {
  unsigned tiles = 1;  ///< of columns, a cluster each
  unsigned parts = 1;  ///< of K
  int panels = 1;      ///< of 64 columns, that a block has
  int groups = 1;      ///< of 64 rows
};

/// A norm takes whole rows, of at most 4·4·64 columns, in one cluster.
inline constexpr unsigned kSideOfNorm = 4;
inline constexpr int kMostPanels = 4, kMostRowsOfSmall = 128;

struct SmallProductMaps {
  CUtensorMap x, kernel;  ///< four axes: columns, 1, rows, 1; boxes of 64 columns and 64 rows
};

/// The launch, or nothing where the GPU has no room for a cluster of so many parts. Half is float16's or bfloat16's
/// type.
template <typename Half>
[[nodiscard]] Launch make_small_product(const SmallProduct& product, const SmallProductMaps& maps,
                                        const SmallTiling& tiling);

}  // namespace attn::cuda
