// Attention on Hopper's own instructions: what its kernel is given, and who makes the launch.
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
  const std::int32_t* starts = nullptr;  ///< of sequences that stand one behind the other, in a batch of one; or null
  /// Which keys, and which queries, of a batch entry count; null: all. Where there is one, nothing is causal and there
  /// are no starts.
  const bool *key_mask = nullptr, *query_mask = nullptr;
  std::int64_t key_mask_stride = 0, query_mask_stride = 0;  ///< from one batch entry to the next
  unsigned* next_block = nullptr;  ///< a ticket for the next tile of queries; 0 before and after a launch
  Tiling tiling;
  int T = 0, S = 0, N = 0, K = 0, V = 0;
  int rows = 0;        ///< of all sequences, where there are starts
  float scale = 1.0F;  ///< of scores, times log2(e)
  bool causal = false;
  bool uniform_if_empty = false;  ///< a query that sees no key averages all values, else it gives zeros
  bool stores_vectors = false;    ///< rows of the context begin at, and consist of, whole 16-byte vectors
};

/// How the work is tiled for a head size: warpgroups with 64 queries each, keys at a time.
struct FlashSm90Tiles {
  int size, groups, keys;

  [[nodiscard]] constexpr int queries() const { return groups * 64; }
  /// Queries once, keys and values twice, barriers; all in panels of 64 columns that TMA swizzles.
  [[nodiscard]] constexpr int shared_bytes() const { return (queries() + 4 * keys) * size * 2 + 1024; }
};
/// By head sizes, which others are rounded up to with zeros. Longer tiles of keys are for queries that see them all:
/// they cost less, but are cut off later where a query sees no later keys.
inline constexpr FlashSm90Tiles kFlashSm90Tiles64 = {64, 3, 128}, kFlashSm90Tiles128 = {128, 2, 128},
                                kFlashSm90LongTiles128 = {128, 2, 176}, kFlashSm90Tiles256 = {256, 2, 64};

/// For one of these; Half is float16's or bfloat16's type. There is no code for masks with long tiles.
template <typename Half>
[[nodiscard]] Launch make_flash_sm90(const FlashSm90& given, const FlashSm90Tiles& tiles, int blocks);

}  // namespace attn::cuda
