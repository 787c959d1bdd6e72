// What the kernel of small products is given, and who makes the launch.
#pragma once

#include <cuda.h>

#include "kernel.h"
#include "small_product.h"

namespace attn::cuda {

/// Blocks of a cluster share the sums over K.
struct SmallTiling {
  unsigned tiles = 1;  ///< of 64 columns, a cluster each
  unsigned parts = 1;  ///< of K, one of kPartsOfSmall
  int groups = 1;      ///< of 64 rows
};

inline constexpr int kMostRowsOfSmall = 128;
inline constexpr unsigned kPartsOfSmall[] = {8, 6, 4, 3, 2, 1};

struct SmallProductMaps {
  CUtensorMap x, kernel;  ///< four axes: columns, 1, rows, 1; boxes of 64 columns and 64 rows
};

/// The launch, or nothing where the GPU has no room for a cluster of so many parts; there is room for one. Half is
/// float16's or bfloat16's type.
template <typename Half>
[[nodiscard]] Launch make_small_product(const SmallProduct& product, const SmallProductMaps& maps,
                                        const SmallTiling& tiling);

}  // namespace attn::cuda
