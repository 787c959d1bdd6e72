#include "panels.h"

#include <algorithm>

#include "vector.h"

namespace attn::backends::onednn {
namespace {

constexpr std::int64_t kMostRows = 12;  // 24 of AVX-512's 32 registers hold sums

/// What a tile's sums begin with: row r at data + r·stride, zeros where data is null.
struct Start {
  const float* data;
  std::int64_t stride;
};

/// kCount rows. Of `next` this fetches the line `step` bytes further on for each k.
template <int kCount>
[[gnu::always_inline]] inline void multiply_rows(const View& x, const float* panel, const Start& start,
                                                 const char* next, std::int64_t step, std::int64_t depth, float* y,
                                                 std::int64_t stride) {
  Lanes left[kCount], right[kCount];
  for (int r = 0; r < kCount; ++r) {
    left[r] = right[r] = Lanes{};
    if (start.data == nullptr) continue;
    load(start.data + r * start.stride, left[r]);
    load(start.data + r * start.stride + kLanes, right[r]);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    if (next != nullptr) __builtin_prefetch(next + k * step, 0, 2);
    Lanes a, b;
    load(panel + k * kPanel, a);
    load(panel + k * kPanel + kLanes, b);
    for (int r = 0; r < kCount; ++r) {
      const float factor = x.data[r * x.row + k * x.column];
      left[r] += factor * a;
      right[r] += factor * b;
    }
  }
  for (int r = 0; r < kCount; ++r) {
    store(left[r], y + r * stride);
    store(right[r], y + r * stride + kLanes);
  }
}

ATTN_VECTORIZED(void, multiply_tiles, const View& x, const float* panel, const Start& start, const float* next,
                std::int64_t rows, std::int64_t depth, float* y, std::int64_t stride) {
  // Tiles of nearly the same height: a low one would leave the multipliers waiting for its few sums.
  const std::int64_t tiles = (rows + kMostRows - 1) / kMostRows;
  // Each tile fetches its share of the next panel, a step for each k.
  const std::int64_t share = tiles == 0 ? 0 : depth * kPanel * static_cast<std::int64_t>(sizeof(float)) / tiles;
  const std::int64_t step = depth == 0 ? 0 : share / depth;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const std::int64_t first = rows * tile / tiles, count = rows * (tile + 1) / tiles - first;
    const View part{x.data + first * x.row, x.row, x.column};
    const char* const ahead = next == nullptr ? nullptr : reinterpret_cast<const char*>(next) + tile * share;
    float* const to = y + first * stride;
    const Start from{start.data == nullptr ? nullptr : start.data + first * start.stride, start.stride};
    switch (count) {
      case 1:
        multiply_rows<1>(part, panel, from, ahead, step, depth, to, stride);
        break;
      case 2:
        multiply_rows<2>(part, panel, from, ahead, step, depth, to, stride);
        break;
      case 3:
        multiply_rows<3>(part, panel, from, ahead, step, depth, to, stride);
        break;
      case 4:
        multiply_rows<4>(part, panel, from, ahead, step, depth, to, stride);
        break;
      case 5:
        multiply_rows<5>(part, panel, from, ahead, step, depth, to, stride);
        break;
      case 6:
        multiply_rows<6>(part, panel, from, ahead, step, depth, to, stride);
        break;
      case 7:
        multiply_rows<7>(part, panel, from, ahead, step, depth, to, stride);
        break;
      case 8:
        multiply_rows<8>(part, panel, from, ahead, step, depth, to, stride);
        break;
      case 9:
        multiply_rows<9>(part, panel, from, ahead, step, depth, to, stride);
        break;
      case 10:
        multiply_rows<10>(part, panel, from, ahead, step, depth, to, stride);
        break;
      case 11:
        multiply_rows<11>(part, panel, from, ahead, step, depth, to, stride);
        break;
      default:
        multiply_rows<12>(part, panel, from, ahead, step, depth, to, stride);
        break;
    }
  }
}

}  // namespace

void multiply_panel(const View& x, const float* panel, const float* start, const float* next, std::int64_t rows,
                    std::int64_t depth, float* y, std::int64_t stride) {
  multiply_tiles(x, panel, {start, 0}, next, rows, depth, y, stride);
}

void add_panel(const View& x, const float* panel, std::int64_t rows, std::int64_t depth, float* y,
               std::int64_t stride) {
  multiply_tiles(x, panel, {y, stride}, nullptr, rows, depth, y, stride);
}

void multiply_part(const View& x, const float* panel, const float* start, std::int64_t rows, std::int64_t depth,
                   std::int64_t width, float* y, std::int64_t stride) {
  if (width == kPanel) return multiply_panel(x, panel, start, nullptr, rows, depth, y, stride);
  float block[kMostRows * kPanel];
  for (std::int64_t i = 0; i < rows; i += kMostRows) {
    const std::int64_t count = std::min(kMostRows, rows - i);
    multiply_panel({x.data + i * x.row, x.row, x.column}, panel, start, nullptr, count, depth, block, kPanel);
    for (std::int64_t r = 0; r < count; ++r) std::copy_n(block + r * kPanel, width, y + (i + r) * stride);
  }
}

void pack_panel(const View& from, std::int64_t depth, std::int64_t width, float* panel) {
  if (width < kPanel) std::fill_n(panel, depth * kPanel, 0.0F);
  for (std::int64_t k = 0; k < depth; ++k) {
    const float* const row = from.data + k * from.row;
    float* const to = panel + k * kPanel;
    if (from.column == 1) {
      std::copy_n(row, width, to);
    } else {
      for (std::int64_t j = 0; j < width; ++j) to[j] = row[j * from.column];
    }
  }
}

}  // namespace attn::backends::onednn
