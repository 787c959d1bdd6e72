#include "panels.h"

#include <algorithm>
#include <cstring>

#include "isa.h"
#include "panel_tiles.h"
#include "vector.h"

namespace attn::backends::cpu {
namespace {

/// Maximum length of a chain of additions. A longer sum is a sum of such chains, which rounds less.
constexpr std::int64_t kChain = 1024;

/// The most rows of any micro-kernel.
constexpr std::int64_t kMostRows = 12;

/// Rows of x whose stride is a multiple of kAliased floats conflict in the L1 cache, which has kWays ways.
constexpr std::int64_t kAliased = 4096 / sizeof(float), kWays = 8;

/// For up to kUnaided rows, memory delivers a panel as fast as it is multiplied, because the hardware prefetcher
/// detects the sequential reads. With more rows it does not; then the first rows prefetch the panel kBytesAhead bytes
/// ahead.
constexpr std::int64_t kUnaided = 4, kBytesAhead = 8 << 10;
/// For half-precision panels: with more than kUnaidedByHalf rows of x, the panel is prefetched kRowsAhead of its rows
/// ahead. Widening prefetches kRowsAheadOfWidening rows ahead.
constexpr int kUnaidedByHalf = 2, kRowsAhead = 16, kRowsAheadOfWidening = 64;

/// Returns the micro-kernels with 16 or 32 columns.
const TileLoops& loops_for([[maybe_unused]] std::int64_t columns) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (isa() >= Isa::avx512) return columns == kPanel ? kTilesOfAvx512 : kHalfTilesOfAvx512;
  if (isa() >= Isa::avx2) return kTilesOfAvx2;
#endif
  return kTiles;
}

/// Multiplies dense rows of x by 16 or 32 columns.
void multiply_tiles(const PanelSums& sums) {
  const TileLoops& loops = loops_for(sums.columns);
  auto most_rows = static_cast<std::int64_t>(loops.by_rows.size());
  if (sums.x.row % kAliased == 0) most_rows = std::min(most_rows, kWays);
  // Splits the rows into tiles of similar height, because a low tile has few accumulators and would be limited by
  // latency.
  const std::int64_t heights = (sums.rows + most_rows - 1) / most_rows, widths = sums.columns / loops.columns;
  const std::int64_t least = heights == 0 ? 0 : sums.rows / heights, higher = sums.rows - heights * least;
  const bool fetches = sums.fetches && sums.rows > kUnaided;
  for (std::int64_t height = 0; height < heights; ++height) {
    const std::int64_t first = height * least + std::min(height, higher), rows = least + (height < higher ? 1 : 0);
    std::int64_t k = 0;
    do {
      const std::int64_t depth = std::min(kChain, sums.depth - k);
      const bool is_first = k == 0, is_last = k + depth == sums.depth;
      Tile tile;
      tile.x = sums.x.data + first * sums.x.row + k;
      tile.row_x = sums.x.row;
      tile.depth = depth;
      tile.out.relu = is_last && sums.out.relu;
      tile.stride = sums.stride;
      for (std::int64_t width = 0; width < widths; ++width) {
        const std::int64_t column = width * loops.columns, at = first * sums.stride + column;
        tile.panel = sums.panel + k * kPanel + column;
        tile.start = is_first && sums.start != nullptr ? sums.start + column : nullptr;
        tile.y = sums.y + at;
        tile.earlier = is_first && !sums.adds ? nullptr : tile.y;
        tile.out.residual = is_last && sums.out.residual != nullptr ? sums.out.residual + at : nullptr;
        tile.ahead = fetches && height == 0 && width == 0 ? kBytesAhead : 0;
        loops.by_rows[static_cast<std::size_t>(rows - 1)](tile);
      }
      k += depth;
    } while (k < sums.depth);
  }
}

/// Multiplies rows of x with any column stride by 16 or 32 columns. A few rows are made dense at a time, for one chain.
void multiply_scattered(const PanelSums& sums) {
  float dense[kMostRows * kChain];
  for (std::int64_t i = 0; i < sums.rows; i += kMostRows) {
    std::int64_t k = 0;
    do {
      const bool is_first = k == 0, is_last = k + kChain >= sums.depth;
      PanelSums part = sums;
      part.rows = std::min(kMostRows, sums.rows - i);
      part.depth = std::min(kChain, sums.depth - k);
      const float* const from = sums.x.data + i * sums.x.row + k * sums.x.column;
      for (std::int64_t r = 0; r < part.rows; ++r)
        for (std::int64_t j = 0; j < part.depth; ++j) dense[r * kChain + j] = from[r * sums.x.row + j * sums.x.column];
      part.x = {dense, kChain, 1};
      part.panel = sums.panel + k * kPanel;
      part.y = sums.y + i * sums.stride;
      part.adds = sums.adds || !is_first;
      if (!is_first) part.start = nullptr;
      part.out = is_last ? sums.out : Epilogue{};
      if (part.out.residual != nullptr) part.out.residual += i * sums.stride;
      multiply_tiles(part);
      k += kChain;
    } while (k < sums.depth);
  }
}

/// Multiplies by any number of columns, through a block of 16 or 32.
void multiply_part(const PanelSums& sums) {
  float block[kMostRows * kPanel];
  for (std::int64_t i = 0; i < sums.rows; i += kMostRows) {
    PanelSums part = sums;
    part.x.data += i * sums.x.row;
    part.rows = std::min(kMostRows, sums.rows - i);
    part.y = block;
    part.stride = kPanel;
    part.columns = sums.columns <= kLanes ? kLanes : kPanel;
    part.out.residual = nullptr;
    for (std::int64_t r = 0; sums.adds && r < part.rows; ++r) {
      std::fill_n(block + r * kPanel, kPanel, 0.0F);
      std::copy_n(sums.y + (i + r) * sums.stride, sums.columns, block + r * kPanel);
    }
    multiply_panel(part);
    for (std::int64_t r = 0; r < part.rows; ++r) {
      const float* const from = block + r * kPanel;
      const std::int64_t at = (i + r) * sums.stride;
      for (std::int64_t j = 0; j < sums.columns; ++j)
        sums.y[at + j] = sums.out.residual == nullptr ? from[j] : from[j] + sums.out.residual[at + j];
    }
  }
}

/// Loads a row of a half-precision panel as two vectors of columns.
template <bool kIsBfloat16>
[[gnu::always_inline]] inline void load_pairs(const std::uint16_t* from, Lanes& left, Lanes& right) {
  Integers pairs;
  std::memcpy(&pairs, from, sizeof pairs);
  if constexpr (kIsBfloat16) {
    left = reinterpret_cast<Lanes>(pairs << 16);
    right = reinterpret_cast<Lanes>(pairs & ~0xFFFF);
  } else {
    numbers_of_float16(pairs & 0xFFFF, left);
    numbers_of_float16((pairs >> 16) & 0xFFFF, right);
  }
}

template <bool kIsBfloat16>
[[gnu::always_inline]] inline void widen(const std::uint16_t* from, std::int64_t depth, float* panel) {
  for (std::int64_t k = 0; k < depth; ++k) {
    __builtin_prefetch(from + (k + kRowsAheadOfWidening) * kPanel);
    Lanes left, right;
    load_pairs<kIsBfloat16>(from + k * kPanel, left, right);
    store(left, panel + k * kPanel);
    store(right, panel + k * kPanel + kLanes);
  }
}

ATTN_VECTORIZED(void, widen_bfloat16_panel, const std::uint16_t* from, std::int64_t depth, float* panel) {
  widen<true>(from, depth, panel);
}
ATTN_VECTORIZED(void, widen_float16_panel, const std::uint16_t* from, std::int64_t depth, float* panel) {
  widen<false>(from, depth, panel);
}

/// Accumulates in the order of multiply_tiles, so that a half-precision panel gives the same bits as a float32 panel
/// with the same numbers.
template <bool kIsBfloat16, int kRows>
[[gnu::always_inline]] inline void multiply_some(const float* x, std::int64_t row_x, const std::uint16_t* panel,
                                                 std::int64_t depth, const float* start, float* y) {
  std::int64_t k = 0;
  do {
    const bool is_first = k == 0;
    const std::int64_t end = std::min(depth, k + kChain);
    Lanes sums[kRows][2] = {}, left, right;
    for (int r = 0; is_first && r < kRows; ++r) {
      load(start, sums[r][0]);
      load(start + kLanes, sums[r][1]);
    }
    for (; k < end; ++k) {
      if constexpr (kRows > kUnaidedByHalf) __builtin_prefetch(panel + (k + kRowsAhead) * kPanel);
      load_pairs<kIsBfloat16>(panel + k * kPanel, left, right);
      for (int r = 0; r < kRows; ++r) {
        sums[r][0] += x[r * row_x + k] * left;
        sums[r][1] += x[r * row_x + k] * right;
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < 2; ++v) {
        float* const to = y + r * kPanel + std::ptrdiff_t{v} * kLanes;
        Lanes earlier;
        if (!is_first) {
          load(to, earlier);
          sums[r][v] += earlier;
        }
        store(sums[r][v], to);
      }
    }
  } while (k < depth);
}

template <bool kIsBfloat16>
[[gnu::always_inline]] inline void multiply_few(const float* x, std::int64_t row_x, std::int64_t rows,
                                                const std::uint16_t* panel, std::int64_t depth, const float* start,
                                                float* y) {
  switch (rows) {
    case 1:
      return multiply_some<kIsBfloat16, 1>(x, row_x, panel, depth, start, y);
    case 2:
      return multiply_some<kIsBfloat16, 2>(x, row_x, panel, depth, start, y);
    case 3:
      return multiply_some<kIsBfloat16, 3>(x, row_x, panel, depth, start, y);
    default:
      return multiply_some<kIsBfloat16, 4>(x, row_x, panel, depth, start, y);
  }
}

ATTN_VECTORIZED(void, multiply_bfloat16, const float* x, std::int64_t row_x, std::int64_t rows,
                const std::uint16_t* panel, std::int64_t depth, const float* start, float* y) {
  multiply_few<true>(x, row_x, rows, panel, depth, start, y);
}
ATTN_VECTORIZED(void, multiply_float16, const float* x, std::int64_t row_x, std::int64_t rows,
                const std::uint16_t* panel, std::int64_t depth, const float* start, float* y) {
  multiply_few<false>(x, row_x, rows, panel, depth, start, y);
}

ATTN_VECTORIZED(void, pack, const View& from, std::int64_t depth, std::int64_t width, float* panel) {
  std::int64_t k = 0;
  if (from.column == 1 && width == kPanel) {
    for (; k < depth; ++k) {
      Lanes left, right;
      load(from.data + k * from.row, left);
      load(from.data + k * from.row + kLanes, right);
      store(left, panel + k * kPanel);
      store(right, panel + k * kPanel + kLanes);
    }
  } else if (from.row == 1) {
    // The columns of the panel are rows in memory. Blocks of 16 columns and 16 numbers are transposed.
    for (; k + kLanes <= depth; k += kLanes) {
      for (std::int64_t j = 0; j < kPanel; j += kLanes) {
        Lanes block[kLanes];
        for (std::int64_t i = 0; i < kLanes; ++i) {
          block[i] = Lanes{};
          if (j + i < width) load(from.data + k + (j + i) * from.column, block[i]);
        }
        if (j < width) transpose(block);
        for (std::int64_t i = 0; i < kLanes; ++i) store(block[i], panel + (k + i) * kPanel + j);
      }
    }
  }
  for (; k < depth; ++k) {
    for (std::int64_t j = 0; j < width; ++j) panel[k * kPanel + j] = from.data[k * from.row + j * from.column];
    for (std::int64_t j = width; j < kPanel; ++j) panel[k * kPanel + j] = 0.0F;
  }
}

}  // namespace

void multiply_panel(const PanelSums& sums) {
  if (sums.columns != kPanel && sums.columns != kLanes) {
    multiply_part(sums);
  } else if (sums.x.column != 1) {
    multiply_scattered(sums);
  } else {
    multiply_tiles(sums);
  }
}

void pack_panel(const View& from, std::int64_t depth, std::int64_t width, float* panel) {
  pack(from, depth, width, panel);
}

void pack_half_panel(const std::uint16_t* from, std::int64_t row, std::int64_t depth, std::int64_t width,
                     std::uint16_t* panel) {
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t j = 0; j < kPanel; ++j)
      panel[k * kPanel + 2 * (j % kLanes) + j / kLanes] = j < width ? from[k * row + j] : std::uint16_t{0};
  }
}

void widen_panel(DType half, const std::uint16_t* from, std::int64_t depth, float* panel) {
  (half == DType::bfloat16 ? widen_bfloat16_panel : widen_float16_panel)(from, depth, panel);
}

void multiply_half_panel(DType half, const float* x, std::int64_t row_x, std::int64_t rows, const std::uint16_t* panel,
                         std::int64_t depth, const float* start, float* y) {
  (half == DType::bfloat16 ? multiply_bfloat16 : multiply_float16)(x, row_x, rows, panel, depth, start, y);
}

}  // namespace attn::backends::cpu
