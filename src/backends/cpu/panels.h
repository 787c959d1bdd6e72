// Products with panels of 32 columns.
#pragma once

#include <cstdint>

#include "attn/base/dtype.h"
#include "panel.h"

namespace attn::backends::cpu {

/// y[i·stride + j] = out(start[j] + Σ x(i, k)·panel[k·kPanel + j]) for i < rows, k < depth, j < columns.
struct PanelSums {
  View x;
  const float* panel;
  std::int64_t rows, depth;
  float* y;
  std::int64_t stride;
  std::int64_t columns = kPanel;  ///< at most kPanel
  const float* start = nullptr;   ///< kPanel numbers; null: zeros
  bool adds = false;              ///< to what y holds
  bool fetches = false;           ///< the panel, which no cache near holds, and what lies behind it
  WriteOut out{};
};

void multiply_panel(const PanelSums& sums);

/// panel[k·kPanel + j] = from(k, j) for k < depth, j < width; zeros for width ≤ j < kPanel.
void pack_panel(const View& from, std::int64_t depth, std::int64_t width, float* panel);

/// The same of half-precision numbers as they lie in a matrix whose rows are `row` numbers apart. Columns j and j + 16
/// lie side by side, which is where a vector of 32-bit numbers has two columns that are quickly taken apart.
void pack_half_panel(const std::uint16_t* from, std::int64_t row, std::int64_t depth, std::int64_t width,
                     std::uint16_t* panel);
/// A panel in float32 of one in half precision.
void widen_panel(DType half, const std::uint16_t* from, std::int64_t depth, float* panel);

/// The most rows of multiply_half_panel.
inline constexpr std::int64_t kFewRows = 4;

/// y[i·kPanel + j] = start[j] + Σ x[i·row_x + k]·panel(k, j) of a panel in half precision, which is widened as it is
/// read: for rows so few that the panel's bytes take longer than the products.
void multiply_half_panel(DType half, const float* x, std::int64_t row_x, std::int64_t rows, const std::uint16_t* panel,
                         std::int64_t depth, const float* start, float* y);

}  // namespace attn::backends::cpu
