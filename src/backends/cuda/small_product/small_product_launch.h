// The parameters of the small-product kernel, and its launch.
#pragma once

#include <cuda.h>

#include "kernel.h"
#include "small_product.h"

namespace attn::cuda {

/// Blocks of a cluster split the sums over K.
struct SmallTiling {
  unsigned tiles = 1;  ///< tiles of 64 columns, one cluster each
  unsigned parts = 1;  ///< slices of K, one of kPartsOfSmall
  int groups = 1;      ///< groups of 64 rows
};

inline constexpr int kMostRowsOfSmall = 128;
inline constexpr unsigned kPartsOfSmall[] = {8, 6, 4, 3, 2, 1};

struct SmallProductMaps {
  CUtensorMap x, kernel;  ///< four axes: columns, 1, rows, 1; boxes of 64 columns and 64 rows
};

/// Makes the launch, or nothing if the GPU cannot schedule a cluster of this size; a cluster of one always fits. Half
/// is the type of float16 or bfloat16.
template <typename Half>
[[nodiscard]] Launch make_small_product(const SmallProduct& product, const SmallProductMaps& maps,
                                        const SmallTiling& tiling);

}  // namespace attn::cuda
