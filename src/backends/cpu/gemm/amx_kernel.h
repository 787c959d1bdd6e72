// A 32 × 32 micro-kernel for products of bfloat16 parts, in eight tile registers.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "amx_pack.h"

namespace attn::backends::cpu {

/// Data to prefetch into the L2 cache, a few cache lines at a time: `lines` with each product of two tiles. Prefetching
/// everything at once would delay the tile loads.
struct Prefetch {
  const char* next;
  std::int64_t lines;

  [[gnu::always_inline]] void fetch(std::int64_t products = 1) {
    for (std::int64_t i = 0; i < lines * products; ++i, next += 64) __builtin_prefetch(next, 0, 2);
  }
};

namespace tiles {

/// A product of two bfloat16 parts: part x of the left operand times part w of the right one. A float32 number has up
/// to three parts, the largest first.
struct Pair {
  int x, w;
};

/// The products that are computed in addition to that of both first parts, by the number of parts. Omitted products are
/// below float32's rounding error (three parts) or 2⁻¹⁶ (two parts). Adjacent pairs share a loaded tile.
template <int kParts>
inline constexpr std::array<Pair, 0> kSmall{};
template <>
inline constexpr std::array<Pair, 2> kSmall<2>{{{1, 0}, {0, 1}}};
template <>
inline constexpr std::array<Pair, 5> kSmall<3>{{{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}}};
inline constexpr std::array<Pair, 1> kLarge{{{0, 0}}};

inline constexpr Pair kNothing{-1, -1};

/// The data that should stay in the L1 cache: everything, the first parts (which are read twice), or nothing.
enum class Keep : std::uint8_t { all, first_parts, none };

template <int kTile, bool kStreams, typename Tiles>
[[gnu::always_inline]] inline void load(Tiles& tiles, const Bfloat16* from) {
  if constexpr (kStreams) {
    tiles.template stream<kTile>(from);
  } else {
    tiles.template load<kTile>(from);
  }
}

/// Accumulates the products of one pair. Tiles 0 to 3 are the accumulators: the first rows by the first and last
/// columns, then the last rows. Tiles 4 and 5 hold a part of x, and 6 and 7 one of w; they are not reloaded if the
/// previous pair had the same part.
template <int kRowTiles, Pair kPair, Pair kBefore, Keep kX, Keep kW, typename Tiles>
[[gnu::always_inline]] inline void multiply_pair(Tiles& tiles, const Bfloat16* x, const Bfloat16* w, Prefetch& ahead) {
  constexpr bool kStreamsX = kX == Keep::none || (kX == Keep::first_parts && kPair.x > 0);
  constexpr bool kStreamsW = kW == Keep::none || (kW == Keep::first_parts && kPair.w > 0);
  if constexpr (kPair.x != kBefore.x) load<4, kStreamsX>(tiles, x + kPair.x * kTilePart);
  if constexpr (kPair.w != kBefore.w) load<6, kStreamsW>(tiles, w + kPair.w * kTilePart);
  tiles.template multiply<0, 4, 6>();
  ahead.fetch();
  if constexpr (kPair.w != kBefore.w) load<7, kStreamsW>(tiles, w + kPair.w * kTilePart + kTileNumbers);
  tiles.template multiply<1, 4, 7>();
  ahead.fetch();
  if constexpr (kRowTiles == 2) {
    if constexpr (kPair.x != kBefore.x) load<5, kStreamsX>(tiles, x + kPair.x * kTilePart + kTileNumbers);
    tiles.template multiply<2, 5, 6>();
    ahead.fetch();
    tiles.template multiply<3, 5, 7>();
    ahead.fetch();
  }
}

/// Accumulates the products of `kPairs` over all steps.
template <int kParts, int kRowTiles, const auto& kPairs, Keep kX, Keep kW, typename Tiles, std::size_t... kIndex>
[[gnu::always_inline]] inline void add_pairs(Tiles& tiles, const Bfloat16* x, const Bfloat16* w, std::int64_t steps,
                                             Prefetch& ahead, std::index_sequence<kIndex...>) {
  for (std::int64_t step = 0; step < steps; ++step) {
    (multiply_pair < kRowTiles, kPairs[kIndex], kIndex == 0 ? kNothing : kPairs[kIndex == 0 ? 0 : kIndex - 1], kX,
     kW > (tiles, x, w, ahead), ...);
    x += kParts * kTilePart;
    w += kParts * kTilePart;
  }
}

}  // namespace tiles

/// Computes y(i, j) = Σ x(i, k)·w(k, j) for the first 16·kRowTiles rows of a block and a block of columns.
///
/// All small products over the whole depth come first, then the large ones. Only the last few additions then round at
/// the magnitude of the result, and the error is below that of a float32 product. With one part the accumulators start
/// with `start`, which is laid out as y; null: zeros. `kOnce`: x is not read again soon.
template <int kParts, int kRowTiles, bool kOnce, typename Tiles>
void multiply_row_tiles(Tiles& tiles, const Bfloat16* x, const Bfloat16* w, std::int64_t steps, Prefetch& ahead,
                        float* y, std::int64_t stride, const float* start) {
  using tiles::Keep;
  if (kParts == 1 && start != nullptr) {
    tiles.template load_sums<0>(start, stride);
    tiles.template load_sums<1>(start + kTileRows, stride);
    if constexpr (kRowTiles == 2) {
      tiles.template load_sums<2>(start + kTileRows * stride, stride);
      tiles.template load_sums<3>(start + kTileRows * stride + kTileRows, stride);
    }
  } else {
    tiles.template zero<0>();
    tiles.template zero<1>();
    if constexpr (kRowTiles == 2) {
      tiles.template zero<2>();
      tiles.template zero<3>();
    }
  }
  constexpr std::index_sequence<0> kOne;
  if constexpr (kParts > 1) {
    constexpr auto& kPairs = tiles::kSmall<kParts>;
    constexpr Keep kKeep = kOnce ? Keep::first_parts : Keep::all;
    tiles::add_pairs<kParts, kRowTiles, kPairs, kKeep, kKeep>(tiles, x, w, steps, ahead,
                                                              std::make_index_sequence<kPairs.size()>());
    tiles::add_pairs<kParts, kRowTiles, tiles::kLarge, Keep::all, Keep::all>(tiles, x, w, steps, ahead, kOne);
  } else if constexpr (kOnce) {
    constexpr std::int64_t kKept = 16;
    const std::int64_t kept = std::min(steps, kKept);
    tiles::add_pairs<1, kRowTiles, tiles::kLarge, Keep::none, Keep::all>(tiles, x, w, kept, ahead, kOne);
    tiles::add_pairs<1, kRowTiles, tiles::kLarge, Keep::none, Keep::none>(
        tiles, x + kept * kTilePart, w + kept * kTilePart, steps - kept, ahead, kOne);
  } else {
    tiles::add_pairs<1, kRowTiles, tiles::kLarge, Keep::all, Keep::all>(tiles, x, w, steps, ahead, kOne);
  }
  tiles.template store<0>(y, stride);
  tiles.template store<1>(y + kTileRows, stride);
  if constexpr (kRowTiles == 2) {
    tiles.template store<2>(y + kTileRows * stride, stride);
    tiles.template store<3>(y + kTileRows * stride + kTileRows, stride);
  }
}

/// Computes y(i, j) = Σ x(i, k)·w(k, j) for the first `rows` ≤ 32 rows of a block and a block of columns. Row i is
/// written to y + i·stride; a few more rows of y may be overwritten.
template <int kParts, bool kOnce = false, typename Tiles>
void multiply_tile_block(Tiles& tiles, const Bfloat16* x, const Bfloat16* w, std::int64_t steps, std::int64_t rows,
                         Prefetch& ahead, float* y, std::int64_t stride = kTileBlock, const float* start = nullptr) {
  if (rows > kTileRows) {
    multiply_row_tiles<kParts, 2, kOnce>(tiles, x, w, steps, ahead, y, stride, start);
  } else {
    multiply_row_tiles<kParts, 1, kOnce>(tiles, x, w, steps, ahead, y, stride, start);
  }
}

}  // namespace attn::backends::cpu
