#include "panels.h"

#include <algorithm>
#include <cstring>

#include "vector.h"

namespace attn::backends::cpu {
namespace {

constexpr std::int64_t kMostRows = 12;  // 24 of AVX-512's 32 registers hold sums

/// So many products are added one after the other; longer sums are sums of such chains, which round less.
constexpr std::int64_t kChain = 1024;

/// What a tile's sums begin with, and what becomes of them.
struct Ends {
  const float* start;    ///< kPanel numbers for every row; null: zeros
  const float* earlier;  ///< then added, lying as y does; null: nothing
  WriteOut out;
};

/// The first lane of a tile's vector. Counters of rows and vectors are int: with 64 bits GCC 12's addresses cost 4 %.
constexpr std::ptrdiff_t lane_of(int vector) { return std::ptrdiff_t{vector} * kLanes; }

/// kRows rows of kVectors · 16 columns; the rows of x are dense, `row` numbers apart. Of `next` this fetches the line
/// `step` bytes further on for each k.
template <int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_tile(const float* x, std::int64_t row_x, const float* panel,
                                                 const Ends& ends, const char* next, std::int64_t step,
                                                 std::int64_t depth, float* y, std::int64_t stride) {
  Lanes sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = Lanes{};
      if (ends.start != nullptr) load(ends.start + lane_of(v), sums[r][v]);
    }
  }
  const auto add_products = [&](std::int64_t k) __attribute__((always_inline)) {
    if (next != nullptr) __builtin_prefetch(next + k * step, 0, 2);
    Lanes row[kVectors];
    for (int v = 0; v < kVectors; ++v) load(panel + k * kPanel + lane_of(v), row[v]);
    for (int r = 0; r < kRows; ++r) {
      const float factor = x[r * row_x + k];
      for (int v = 0; v < kVectors; ++v) sums[r][v] += factor * row[v];
    }
  };
  std::int64_t k = 0;
  constexpr std::int64_t kUnrolled = 4;  // so the addresses of rows, which are too many for registers, serve longer
  for (; k + kUnrolled <= depth; k += kUnrolled) {
#pragma GCC unroll 4
    for (int u = 0; u < kUnrolled; ++u) add_products(k + u);
  }
  for (; k < depth; ++k) add_products(k);
  const auto for_all = [&](const auto& change) __attribute__((always_inline)) {
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kVectors; ++v) change(sums[r][v], r * stride + lane_of(v));
  };
  const auto add = [&](const float* from) __attribute__((always_inline)) {
    for_all([from](Lanes & sum, std::int64_t at) __attribute__((always_inline)) {
      Lanes other;
      load(from + at, other);
      sum += other;
    });
  };
  if (ends.earlier != nullptr) add(ends.earlier);
  if (ends.out.relu) {
    for_all([](Lanes & sum, std::int64_t) __attribute__((always_inline)) { sum = sum < Lanes{} ? Lanes{} : sum; });
  }
  if (ends.out.residual != nullptr) add(ends.out.residual);
  for_all([y](const Lanes& sum, std::int64_t at) __attribute__((always_inline)) { store(sum, y + at); });
}

template <int kVectors, typename... Arguments>
[[gnu::always_inline]] inline void multiply_rows(std::int64_t count, const Arguments&... arguments) {
  switch (count) {
    case 1:
      return multiply_tile<1, kVectors>(arguments...);
    case 2:
      return multiply_tile<2, kVectors>(arguments...);
    case 3:
      return multiply_tile<3, kVectors>(arguments...);
    case 4:
      return multiply_tile<4, kVectors>(arguments...);
    case 5:
      return multiply_tile<5, kVectors>(arguments...);
    case 6:
      return multiply_tile<6, kVectors>(arguments...);
    case 7:
      return multiply_tile<7, kVectors>(arguments...);
    case 8:
      return multiply_tile<8, kVectors>(arguments...);
    case 9:
      return multiply_tile<9, kVectors>(arguments...);
    case 10:
      return multiply_tile<10, kVectors>(arguments...);
    case 11:
      return multiply_tile<11, kVectors>(arguments...);
    default:
      return multiply_tile<12, kVectors>(arguments...);
  }
}

template <int kVectors>
[[gnu::always_inline]] inline void multiply_tiles(const PanelSums& sums) {
  // Tiles of nearly the same height: a low one would leave the multipliers waiting for its few sums.
  const std::int64_t tiles = (sums.rows + kMostRows - 1) / kMostRows;
  // Each tile fetches its share of what is next, a step for each k.
  const std::int64_t share = tiles == 0 ? 0 : static_cast<std::int64_t>(sums.next.size()) / tiles;
  const std::int64_t step = sums.depth == 0 ? 0 : share / sums.depth;
  float dense[kMostRows * kChain];  // rows of an x that is not
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const std::int64_t first = sums.rows * tile / tiles, count = sums.rows * (tile + 1) / tiles - first;
    float* const y = sums.y + first * sums.stride;
    const float* const residual = sums.out.residual == nullptr ? nullptr : sums.out.residual + first * sums.stride;
    const char* const next = reinterpret_cast<const char*>(sums.next.data());
    std::int64_t k = 0;
    do {
      const std::int64_t depth = std::min(kChain, sums.depth - k);
      const bool is_first = k == 0, is_last = k + depth == sums.depth;
      const float* x = sums.x.data + first * sums.x.row + k * sums.x.column;
      std::int64_t row_x = sums.x.row;
      if (sums.x.column != 1) {
        for (std::int64_t r = 0; r < count; ++r)
          for (std::int64_t i = 0; i < depth; ++i) dense[r * kChain + i] = x[r * row_x + i * sums.x.column];
        x = dense;
        row_x = kChain;
      }
      multiply_rows<kVectors>(count, x, row_x, sums.panel + k * kPanel,
                              Ends{is_first ? sums.start : nullptr,
                                   is_first && !sums.adds ? nullptr : y,
                                   {is_last && sums.out.relu, is_last ? residual : nullptr}},
                              next == nullptr ? nullptr : next + tile * share + k * step, step, depth, y, sums.stride);
      k += depth;
    } while (k < sums.depth);
  }
}

ATTN_VECTORIZED(void, multiply_whole, const PanelSums& sums) { multiply_tiles<2>(sums); }
ATTN_VECTORIZED(void, multiply_half, const PanelSums& sums) { multiply_tiles<1>(sums); }

/// Of other numbers of columns, by way of a block of whole vectors.
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
    multiply_panel(part);
    for (std::int64_t r = 0; r < part.rows; ++r) {
      const float* const from = block + r * kPanel;
      const std::int64_t at = (i + r) * sums.stride;
      for (std::int64_t j = 0; j < sums.columns; ++j)
        sums.y[at + j] = sums.out.residual == nullptr ? from[j] : from[j] + sums.out.residual[at + j];
    }
  }
}

ATTN_VECTORIZED(void, widen, const std::uint16_t* from, std::int64_t depth, float* panel) {
  for (std::int64_t k = 0; k < depth; ++k) {
    Integers pairs;
    std::memcpy(&pairs, from + k * kPanel, sizeof pairs);
    store(reinterpret_cast<Lanes>(pairs << 16), panel + k * kPanel);
    store(reinterpret_cast<Lanes>(pairs & ~0xFFFF), panel + k * kPanel + kLanes);
  }
}

ATTN_VECTORIZED(void, pack, const View& from, std::int64_t depth, std::int64_t width, float* panel) {
  if (width < kPanel) std::fill_n(panel, depth * kPanel, 0.0F);
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
    // Columns of the panel are rows in memory: 16 of them at a time, 16 numbers of each.
    for (; k + kLanes <= depth; k += kLanes) {
      for (std::int64_t j = 0; j < width; j += kLanes) {
        Lanes block[kLanes];
        for (std::int64_t i = 0; i < kLanes; ++i) {
          block[i] = Lanes{};
          if (j + i < width) load(from.data + k + (j + i) * from.column, block[i]);
        }
        transpose(block);
        for (std::int64_t i = 0; i < kLanes; ++i) store(block[i], panel + (k + i) * kPanel + j);
      }
    }
  }
  for (; k < depth; ++k) {
    for (std::int64_t j = 0; j < width; ++j) panel[k * kPanel + j] = from.data[k * from.row + j * from.column];
  }
}

}  // namespace

void multiply_panel(const PanelSums& sums) {
  if (sums.columns == kPanel) {
    multiply_whole(sums);
  } else if (sums.columns == kLanes) {
    multiply_half(sums);
  } else {
    multiply_part(sums);
  }
}

void pack_panel(const View& from, std::int64_t depth, std::int64_t width, float* panel) {
  pack(from, depth, width, panel);
}

void pack_bfloat16_panel(const std::uint16_t* from, std::int64_t row, std::int64_t depth, std::int64_t width,
                         std::uint16_t* panel) {
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t j = 0; j < kPanel; ++j)
      panel[k * kPanel + 2 * (j % kLanes) + j / kLanes] = j < width ? from[k * row + j] : std::uint16_t{0};
  }
}

void widen_panel(const std::uint16_t* from, std::int64_t depth, float* panel) { widen(from, depth, panel); }

}  // namespace attn::backends::cpu
