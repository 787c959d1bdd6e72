// Products with panels of 32 columns, in tiles of up to 12 rows whose sums stay in registers.
#pragma once

#include <cstdint>

namespace attn::backends::onednn {

/// Columns of a panel.
inline constexpr std::int64_t kPanel = 32;

/// A matrix as it is addressed: element (i, k) at data[i·row + k·column].
struct View {
  const float* data;
  std::int64_t row, column;
};

/// What becomes of the sums before they are written: max(·, 0), where NaN stays, then plus the residual, which lies as
/// y does.
struct WriteOut {
  bool relu = false;
  const float* residual = nullptr;
};

/// y[i·stride + j] = start[j] + Σ x(i, k) · panel[k·kPanel + j] for i < rows, k < depth, j < kPanel. `start` may be
/// null (zeros). Meanwhile `next`, as large as the panel, is fetched into the cache where it is not null.
void multiply_panel(const View& x, const float* panel, const float* start, const float* next, std::int64_t rows,
                    std::int64_t depth, float* y, std::int64_t stride, const WriteOut& out = {});

/// y[i·stride + j] += Σ x(i, k) · panel[k·kPanel + j].
void add_panel(const View& x, const float* panel, std::int64_t rows, std::int64_t depth, float* y, std::int64_t stride);

/// As the first, but only columns j < width ≤ kPanel of y are written.
void multiply_part(const View& x, const float* panel, const float* start, std::int64_t rows, std::int64_t depth,
                   std::int64_t width, float* y, std::int64_t stride, const WriteOut& out = {});

/// panel[k·kPanel + j] = from(k, j) for k < depth, j < width; zeros for width ≤ j < kPanel.
void pack_panel(const View& from, std::int64_t depth, std::int64_t width, float* panel);

}  // namespace attn::backends::onednn
