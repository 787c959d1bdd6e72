// Products with panels of 32 columns.
#pragma once

#include <cstdint>

#include "attn/base/dtype.h"
#include "panel.h"

namespace attn::backends::cpu {

/// y[i·stride + j] = epilogue(start[j] + Σ x(i, k)·panel[k·kPanel + j]) for i < rows, k < depth, j < columns.
struct PanelSums {
  View x;
  const float* panel;
  std::int64_t rows, depth;
  float* y;
  std::int64_t stride;
  std::int64_t columns = kPanel;  ///< at most kPanel
  const float* start = nullptr;   ///< initial sums of kPanel columns; null: zeros
  bool adds = false;              ///< adds to y instead of overwriting it
  bool fetches = false;  ///< prefetches the panel and the memory after it, because they are not in a near cache
  Epilogue out{};
};

void multiply_panel(const PanelSums& sums);

/// Packs panel[k·kPanel + j] = from(k, j) for k < depth, j < width, with zeros for width ≤ j < kPanel.
void pack_panel(const View& from, std::int64_t depth, std::int64_t width, float* panel);

/// Packs a panel of a half-precision matrix with row stride `row`, with zeros for columns from `width` on. Columns j
/// and j + 16 are adjacent, so a vector of 32-bit words has two columns that are separated quickly.
void pack_half_panel(const std::uint16_t* from, std::int64_t row, std::int64_t depth, std::int64_t width,
                     std::uint16_t* panel);
/// Widens a half-precision panel to float32.
void widen_panel(DType half, const std::uint16_t* from, std::int64_t depth, float* panel);

/// The maximum number of rows of multiply_half_panel.
inline constexpr std::int64_t kFewRows = 4;

/// y[i·kPanel + j] = start[j] + Σ x[i·row_x + k]·panel(k, j) for a half-precision panel, which is widened as it is
/// read. For so few rows that reading the panel takes most of the time.
void multiply_half_panel(DType half, const float* x, std::int64_t row_x, std::int64_t rows, const std::uint16_t* panel,
                         std::int64_t depth, const float* start, float* y);

}  // namespace attn::backends::cpu
