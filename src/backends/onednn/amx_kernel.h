// 32 × 32 sums of products of bfloat16 parts, in eight tiles.
#pragma once

#include <array>
#include <utility>

#include "amx_pack.h"

namespace attn::backends::onednn {

/// What is fetched into the second-level cache while something else is multiplied: so many lines with each product of
/// two tiles. All at once they would keep the loads of the tiles waiting.
struct Ahead {
  const char* next;
  std::int64_t lines;

  [[gnu::always_inline]] void fetch(std::int64_t products = 1) {
    for (std::int64_t i = 0; i < lines * products; ++i, next += 64) __builtin_prefetch(next, 0, 2);
  }
};

namespace tiles {

/// Part x of the rows times part w of the columns.
struct Pair {
  int x, w;
};

/// The products that are small beside that of the first parts, by the number of parts; what is left out is smaller than
/// float32's rounding (three parts) or 2⁻¹⁶ (two). Neighbours share what they load.
template <int kParts>
inline constexpr std::array<Pair, 0> kSmall{};
template <>
inline constexpr std::array<Pair, 2> kSmall<2>{{{1, 0}, {0, 1}}};
template <>
inline constexpr std::array<Pair, 5> kSmall<3>{{{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}}};
inline constexpr std::array<Pair, 1> kLarge{{{0, 0}}};

inline constexpr Pair kNothing{-1, -1};

/// Tiles 0 to 3 are the sums (first rows by first and last columns, then the last rows), 4 and 5 hold a part of x, 6
/// and 7 one of w, from the pair before where it is the same.
template <int kRowTiles, Pair kPair, Pair kBefore, typename Tiles>
[[gnu::always_inline]] inline void multiply_pair(Tiles& tiles, const Bfloat16* x, const Bfloat16* w, Ahead& ahead) {
  if constexpr (kPair.x != kBefore.x) {
    tiles.template load<4>(x + kPair.x * kTilePart);
    if constexpr (kRowTiles == 2) tiles.template load<5>(x + kPair.x * kTilePart + kTileNumbers);
  }
  if constexpr (kPair.w != kBefore.w) {
    tiles.template load<6>(w + kPair.w * kTilePart);
    tiles.template load<7>(w + kPair.w * kTilePart + kTileNumbers);
  }
  tiles.template multiply<0, 4, 6>();
  ahead.fetch();
  tiles.template multiply<1, 4, 7>();
  ahead.fetch();
  if constexpr (kRowTiles == 2) {
    tiles.template multiply<2, 5, 6>();
    ahead.fetch();
    tiles.template multiply<3, 5, 7>();
    ahead.fetch();
  }
}

/// Adds the products of `kPairs` over all steps.
template <int kParts, int kRowTiles, const auto& kPairs, typename Tiles, std::size_t... kIndex>
[[gnu::always_inline]] inline void add_pairs(Tiles& tiles, const Bfloat16* x, const Bfloat16* w, std::int64_t steps,
                                             Ahead& ahead, std::index_sequence<kIndex...>) {
  for (std::int64_t step = 0; step < steps; ++step) {
    (multiply_pair < kRowTiles, kPairs[kIndex],
     kIndex == 0 ? kNothing : kPairs[kIndex == 0 ? 0 : kIndex - 1] > (tiles, x, w, ahead), ...);
    x += kParts * kTilePart;
    w += kParts * kTilePart;
  }
}

}  // namespace tiles

/// y(i, j) = Σ x(i, k)·w(k, j) for the first 16·kRowTiles rows of a block, and a block of columns.
///
/// First all small products over the whole depth, then the large ones: so few and only the last of the additions round
/// a sum of the result's size, and the error is below that of a float32 product. With one part the sums begin with
/// `start`, which lies as y does; null: zeros.
template <int kParts, int kRowTiles, typename Tiles>
void multiply_row_tiles(Tiles& tiles, const Bfloat16* x, const Bfloat16* w, std::int64_t steps, Ahead& ahead, float* y,
                        std::int64_t stride, const float* start) {
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
  if constexpr (kParts > 1) {
    constexpr auto& kPairs = tiles::kSmall<kParts>;
    tiles::add_pairs<kParts, kRowTiles, kPairs>(tiles, x, w, steps, ahead, std::make_index_sequence<kPairs.size()>());
  }
  tiles::add_pairs<kParts, kRowTiles, tiles::kLarge>(tiles, x, w, steps, ahead, std::index_sequence<0>());
  tiles.template store<0>(y, stride);
  tiles.template store<1>(y + kTileRows, stride);
  if constexpr (kRowTiles == 2) {
    tiles.template store<2>(y + kTileRows * stride, stride);
    tiles.template store<3>(y + kTileRows * stride + kTileRows, stride);
  }
}

/// The same for the first `rows` ≤ 32 rows, and some more of which nothing is known. Row i is written to y + i·stride.
template <int kParts, typename Tiles>
void multiply_tile_block(Tiles& tiles, const Bfloat16* x, const Bfloat16* w, std::int64_t steps, std::int64_t rows,
                         Ahead& ahead, float* y, std::int64_t stride = kTileBlock, const float* start = nullptr) {
  if (rows > kTileRows) {
    multiply_row_tiles<kParts, 2>(tiles, x, w, steps, ahead, y, stride, start);
  } else {
    multiply_row_tiles<kParts, 1>(tiles, x, w, steps, ahead, y, stride, start);
  }
}

}  // namespace attn::backends::onednn
