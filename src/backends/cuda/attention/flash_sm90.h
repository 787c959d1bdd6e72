// Attention with Hopper's instructions: the kernel's parameters and its launch.
#pragma once

#include <cuda.h>

#include "attention.h"
#include "tiles.h"

namespace attn::cuda {

struct FlashSm90 {
  CUtensorMap query, key, value;  ///< four axes: size, heads, rows, batch
  HeadsView context;
  float* log_sum_exp = nullptr;
  const std::int32_t* lengths = nullptr;
  const std::int32_t* starts = nullptr;  ///< starts of concatenated sequences in a batch of one, or null
  /// The valid keys and queries of a batch entry; null: all. With masks there is no causality and there are no starts.
  const bool *key_mask = nullptr, *query_mask = nullptr;
  std::int64_t key_mask_stride = 0, query_mask_stride = 0;  ///< strides between batch entries
  unsigned* next_block = nullptr;  ///< counter of the tiles that blocks have taken; 0 before and after a launch
  Tiling tiling;
  int T = 0, S = 0, N = 0, K = 0, V = 0;
  int rows = 0;        ///< rows of all sequences, if there are starts
  float scale = 1.0F;  ///< factor of the scores, times log2(e)
  bool causal = false;
  bool uniform_if_empty = false;  ///< whether a query that sees no key gets the mean of all values; otherwise zeros
  bool stores_vectors = false;    ///< whether rows of the context are aligned to, and made of, whole 16-byte vectors
};

/// The tiling for a head size: consumer warpgroups with 64 queries each, and keys per tile.
struct FlashSm90Tiles {
  int size, groups, keys;

  [[nodiscard]] constexpr int queries() const { return groups * 64; }
  /// Returns the bytes of one buffer of queries, two of keys and of values, and the barriers. Buffers are in panels of
  /// 64 columns, swizzled by TMA.
  [[nodiscard]] constexpr int shared_bytes() const { return (queries() + 4 * keys) * size * 2 + 1024; }
};
/// One tiling per head size; other sizes are padded with zeros. Longer tiles of keys cost less per key, but a causal
/// query wastes more of its last tile. They are therefore used if queries see all keys.
inline constexpr FlashSm90Tiles kFlashSm90Tiles64 = {64, 3, 128}, kFlashSm90Tiles128 = {128, 2, 128},
                                kFlashSm90LongTiles128 = {128, 2, 176}, kFlashSm90Tiles256 = {256, 2, 64};

/// Makes the launch for one of these tilings; Half is the type of float16 or bfloat16. No kernels with masks are
/// compiled for long tiles.
template <typename Half>
[[nodiscard]] Launch make_flash_sm90(const FlashSm90& given, const FlashSm90Tiles& tiles, int blocks);

}  // namespace attn::cuda
