// Products of matrices that both change between runs: tiles of 6 rows and 32 columns held in registers.
//
// For matrices that fit into the caches; larger weights go to oneDNN, packed.
#pragma once

#include <cstdint>
#include <memory>

#include "kernel.h"

namespace attn::backends::onednn {

/// Columns of a panel, and what their number is padded to.
inline constexpr std::int64_t kPanel = 32;

/// y[i·stride_y + j] = Σ x[i·row_x + k·column_x] · panel[k·kPanel + j] for i < rows, k < depth, j < kPanel.
void multiply_panel(const float* x, std::int64_t row_x, std::int64_t column_x, const float* panel, std::int64_t rows,
                    std::int64_t depth, float* y, std::int64_t stride_y);

/// As above, but only columns j < width ≤ kPanel of y are written.
void multiply_part(const float* x, std::int64_t row_x, std::int64_t column_x, const float* panel, std::int64_t rows,
                   std::int64_t depth, std::int64_t width, float* y, std::int64_t stride_y);

/// panel[k·kPanel + j] = from[k·row + j·column] for k < depth, j < width; zeros for width ≤ j < kPanel.
void pack_panel(const float* from, std::int64_t row, std::int64_t column, std::int64_t depth, std::int64_t width,
                float* panel);

/// A MatMul, whatever changes.
[[nodiscard]] std::unique_ptr<Kernel> make_small_matmul(const graph::MatMul& op, const Step& step);

}  // namespace attn::backends::onednn
