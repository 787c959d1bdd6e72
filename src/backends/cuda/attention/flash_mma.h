// Attention on the tensor cores of sm_80 and later: the kernel's parameters and its launch.
#pragma once

#include "attention.h"
#include "tiles.h"

namespace attn::cuda {

struct FlashMma {
  AttentionProblem problem;
  Tiling tiling;
  float scale = 1.0F;  ///< factor of the scores, times log2(e)
  /// For query, key, value: whether rows are aligned to, and made of, whole 16-byte vectors.
  bool copies_vectors[3] = {};
  bool stores_vectors = false;  ///< the same for the context
};

inline constexpr int kFlashMmaWarps = 4;
/// Head sizes with compiled code; other sizes are padded with zeros.
inline constexpr int kFlashMmaSizes[] = {32, 64, 96, 128, 256};

/// Returns the number of queries of a block. A warp has 1 or 2 tiles of 16 queries; at head size 256 the registers
/// suffice for only 1.
constexpr int flash_mma_queries(int tiles) { return kFlashMmaWarps * 16 * tiles; }
/// Keys per tile, limited by the registers.
constexpr int flash_mma_keys(int size, int tiles) { return size * tiles <= 192 ? 64 : 32; }
/// Rows in shared memory are padded by 8 elements, so that the rows of one ldmatrix fall into different banks. Keys and
/// values are double-buffered.
constexpr int flash_mma_stride(int size) { return size + 8; }
constexpr int flash_mma_shared_bytes(int size, int tiles) {
  return (flash_mma_queries(tiles) + 4 * flash_mma_keys(size, tiles)) * flash_mma_stride(size) * 2;
}

/// Makes the launch for one of kFlashMmaSizes; Half is the type of float16 or bfloat16.
template <typename Half>
[[nodiscard]] Launch make_flash_mma(FlashMma given, int size, int tiles);

}  // namespace attn::cuda
