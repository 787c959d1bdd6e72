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
                                                 const char* next, std::int64_t step, std::int64_t depth,
                                                 const WriteOut& out, float* y, std::int64_t stride) {
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
  if (out.relu) {
    const Lanes zero{};
    for (int r = 0; r < kCount; ++r) {
      left[r] = left[r] < zero ? zero : left[r];
      right[r] = right[r] < zero ? zero : right[r];
    }
  }
  if (out.residual != nullptr) {
    for (int r = 0; r < kCount; ++r) {
      Lanes a, b;
      load(out.residual + r * stride, a);
      load(out.residual + r * stride + kLanes, b);
      left[r] += a;
      right[r] += b;
    }
  }
  for (int r = 0; r < kCount; ++r) {
    store(left[r], y + r * stride);
    store(right[r], y + r * stride + kLanes);
  }
}

ATTN_VECTORIZED void multiply_tiles(const View& x, const float* panel, const Start& start, const float* next,
                                    std::int64_t rows, std::int64_t depth, const WriteOut& out, float* y,
                                    std::int64_t stride) {
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
    const WriteOut write{out.relu, out.residual == nullptr ? nullptr : out.residual + first * stride};
    switch (count) {
      case 1:
        multiply_rows<1>(part, panel, from, ahead, step, depth, write, to, stride);
        break;
      case 2:
        multiply_rows<2>(part, panel, from, ahead, step, depth, write, to, stride);
        break;
      case 3:
        multiply_rows<3>(part, panel, from, ahead, step, depth, write, to, stride);
        break;
      case 4:
        multiply_rows<4>(part, panel, from, ahead, step, depth, write, to, stride);
        break;
      case 5:
        multiply_rows<5>(part, panel, from, ahead, step, depth, write, to, stride);
        break;
      case 6:
        multiply_rows<6>(part, panel, from, ahead, step, depth, write, to, stride);
        break;
      case 7:
        multiply_rows<7>(part, panel, from, ahead, step, depth, write, to, stride);
        break;
      case 8:
        multiply_rows<8>(part, panel, from, ahead, step, depth, write, to, stride);
        break;
      case 9:
        multiply_rows<9>(part, panel, from, ahead, step, depth, write, to, stride);
        break;
      case 10:
        multiply_rows<10>(part, panel, from, ahead, step, depth, write, to, stride);
        break;
      case 11:
        multiply_rows<11>(part, panel, from, ahead, step, depth, write, to, stride);
        break;
      default:
        multiply_rows<12>(part, panel, from, ahead, step, depth, write, to, stride);
        break;
    }
  }
}

}  // namespace

void multiply_panel(const View& x, const float* panel, const float* start, const float* next, std::int64_t rows,
                    std::int64_t depth, float* y, std::int64_t stride, const WriteOut& out) {
  multiply_tiles(x, panel, {start, 0}, next, rows, depth, out, y, stride);
}

void add_panel(const View& x, const float* panel, std::int64_t rows, std::int64_t depth, float* y,
               std::int64_t stride) {
  multiply_tiles(x, panel, {y, stride}, nullptr, rows, depth, {}, y, stride);
}

void multiply_part(const View& x, const float* panel, const float* start, std::int64_t rows, std::int64_t depth,
                   std::int64_t width, float* y, std::int64_t stride, const WriteOut& out) {
  if (width == kPanel) return multiply_panel(x, panel, start, nullptr, rows, depth, y, stride, out);
  float block[kMostRows * kPanel];
  for (std::int64_t i = 0; i < rows; i += kMostRows) {
    const std::int64_t count = std::min(kMostRows, rows - i);
    multiply_panel({x.data + i * x.row, x.row, x.column}, panel, start, nullptr, count, depth, block, kPanel,
                   {out.relu, nullptr});
    for (std::int64_t r = 0; r < count; ++r) {
      const float* const from = block + r * kPanel;
      float* const to = y + (i + r) * stride;
      const float* const residual = out.residual == nullptr ? nullptr : out.residual + (i + r) * stride;
      for (std::int64_t j = 0; j < width; ++j) to[j] = residual == nullptr ? from[j] : from[j] + residual[j];
    }
  }
}

ATTN_VECTORIZED void pack_panel(const View& from, std::int64_t depth, std::int64_t width, float* panel) {
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

}  // namespace attn::backends::onednn
