// Micro-kernels of a product with a panel. The accumulators of a tile of rows and columns stay in registers over the
// whole depth. The tile size depends on an instruction set's registers, so each set has a source file with its own
// loops.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "operations/each.h"
#include "panel.h"

namespace attn::backends::cpu {

/// y = epilogue(start + earlier + Σ x(i, k)·panel(k, j)) for the rows and columns of one tile.
struct Tile {
  const float* x = nullptr;  ///< dense rows with stride row_x
  std::int64_t row_x = 0;
  const float* panel = nullptr;  ///< the panel at the tile's first column
  std::int64_t depth = 0;
  const float* start = nullptr;    ///< initial accumulator of each column; null: zeros
  const float* earlier = nullptr;  ///< (rows, columns) laid out as y, added to the sums; null: nothing
  Epilogue out{};
  std::int64_t ahead = 0;  ///< prefetch distance of the panel in bytes, for 32 columns; 0: no prefetching
  float* y = nullptr;      ///< rows with stride `stride`
  std::int64_t stride = 0;
};

using TileLoop = void (*)(const Tile& tile);

/// Micro-kernels of `columns` columns; by_rows[n - 1] multiplies n rows.
struct TileLoops {
  std::int64_t columns;
  std::span<const TileLoop> by_rows;
};

/// For any CPU: up to 4 rows of up to 8 columns, in vectors of 4 floats.
extern const TileLoops kTiles;
#if defined(__x86_64__) && defined(__GNUC__)
/// For AVX2 and FMA: up to 6 rows of up to 16 columns.
extern const TileLoops kTilesOfAvx2;
/// For AVX-512: up to 12 rows of 32 or 16 columns.
extern const TileLoops kTilesOfAvx512, kHalfTilesOfAvx512;
#endif

/// Multiplies kRows rows by kVectors vectors of columns. Inlined into a function that is compiled for the instruction
/// set.
///
/// Counters of rows and vectors are int, because with 64-bit counters GCC 12's address computations cost 4 % of the
/// time.
template <typename Vector, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_tile(const Tile& tile) {
  constexpr std::ptrdiff_t kLanes = sizeof(Vector) / sizeof(float);
  const auto load = [](const float* from, Vector& to) __attribute__((always_inline)) {
    std::memcpy(&to, from, sizeof to);
  };
  const float* const panel = tile.panel;
  const std::int64_t row_x = tile.row_x, depth = tile.depth, ahead = tile.ahead;
  // Three rows share a base address, with offsets of zero, one and two strides, because there are not enough registers
  // for twelve addresses.
  const float* threes[(kRows + 2) / 3];
  ATTN_EACH(i, (kRows + 2) / 3) threes[i] = tile.x + 3 * row_x * i;
  Vector starts[kVectors] = {}, sums[kRows][kVectors];
  ATTN_EACH(v, kVectors) {
    if (tile.start != nullptr) load(tile.start + v * kLanes, starts[v]);
  }
  ATTN_EACH(r, kRows) { ATTN_EACH(v, kVectors) sums[r][v] = starts[v]; }
  const auto add_products = [&](std::int64_t k) __attribute__((always_inline)) {
    if (ahead != 0) {
      const char* const line = reinterpret_cast<const char*>(panel + k * kPanel) + ahead;
      __builtin_prefetch(line, 0, 2);
      __builtin_prefetch(line + kPanel * sizeof(float) / 2, 0, 2);
    }
    Vector row[kVectors];
    ATTN_EACH(v, kVectors) load(panel + k * kPanel + v * kLanes, row[v]);
    ATTN_EACH(r, kRows) {
      const float factor = threes[r / 3][r % 3 * row_x + k];
      ATTN_EACH(v, kVectors) sums[r][v] += factor * row[v];
    }
  };
  std::int64_t k = 0;
  constexpr std::int64_t kUnrolled = 4;
  for (; k + kUnrolled <= depth; k += kUnrolled) {
#pragma GCC unroll 4
    for (int u = 0; u < kUnrolled; ++u) add_products(k + u);
  }
  for (; k < depth; ++k) add_products(k);
  const auto for_all = [&](const auto& change) __attribute__((always_inline)) {
    const std::int64_t stride = tile.stride;
    ATTN_EACH(r, kRows) { ATTN_EACH(v, kVectors) change(sums[r][v], r * stride + v * kLanes); }
  };
  const auto add = [&](const float* from) __attribute__((always_inline)) {
    for_all([&](Vector & sum, std::int64_t at) __attribute__((always_inline)) {
      Vector other;
      load(from + at, other);
      sum += other;
    });
  };
  if (tile.earlier != nullptr) add(tile.earlier);
  if (tile.out.relu) {
    for_all([](Vector & sum, std::int64_t) __attribute__((always_inline)) { sum = sum < Vector{} ? Vector{} : sum; });
  }
  if (tile.out.residual != nullptr) add(tile.out.residual);
  float* const y = tile.y;
  for_all([y](const Vector& sum, std::int64_t at)
              __attribute__((always_inline)) { std::memcpy(y + at, &sum, sizeof sum); });
}

}  // namespace attn::backends::cpu
