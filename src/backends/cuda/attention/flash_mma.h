// Attention on the tensor cores of sm_80 and later: what its kernel is given, and who makes the launch.
#pragma once

#include "attention.h"
#include "tiles.h"

namespace attn::cuda {

struct FlashMma {
  AttentionProblem problem;
  Tiling tiling;
  float scale = 1.0F;           ///< of scores, times log2(e)
  bool copies_vectors[3] = {};  ///< query, key, value: rows begin at, and consist of, whole 16-byte vectors
  bool stores_vectors = false;  ///< context: the same
};

inline constexpr int kFlashMmaWarps = 4;
/// Head sizes that there is code for; others are rounded up with zeros.
inline constexpr int kFlashMmaSizes[] = {32, 64, 96, 128, 256};

/// Tiles of 16 queries are 1 or 2 a warp; at the size 256 there are registers for 1.
constexpr int flash_mma_queries(int tiles) { return kFlashMmaWarps * 16 * tiles; }
/// A tile has as many keys as the registers have room for.
constexpr int flash_mma_keys(int size, int tiles) { return size * tiles <= 192 ? 64 : 32; }
/// Rows in shared memory are 8 elements longer, so that those of one ldmatrix lie in different banks. Keys and values
/// are there twice.
constexpr int flash_mma_stride(int size) { return size + 8; }
constexpr int flash_mma_shared_bytes(int size, int tiles) {
  return (flash_mma_queries(tiles) + 4 * flash_mma_keys(size, tiles)) * flash_mma_stride(size) * 2;
}

/// For one of kFlashMmaSizes; Half is float16's or bfloat16's type.
template <typename Half>
[[nodiscard]] Launch make_flash_mma(FlashMma given, int size, int tiles);

}  // namespace attn::cuda
