// What becomes of a block of 32 × 32 sums before it is written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attn/base/dtype.h"

namespace attn::backends::onednn {

/// Where `rows` ≤ 32 rows of `width` ≤ 32 numbers go, in float32 or bfloat16.
struct TileOutput {
  DType dtype;
  std::byte* y;
  const std::byte* residual;  ///< lies as y does; null: none
  std::int64_t rows, width;
  std::int64_t stride;  ///< numbers from one row of y to the next
};

/// y = sums + bias + residual, or max(sums + bias, 0) + residual, where NaN stays. bias has 32 numbers. False where a
/// sum, with all 32 columns, is infinite or NaN.
bool write_out(const float* sums, const float* bias, bool relu, const TileOutput& out);

/// Are all 32 numbers of so many rows?
[[nodiscard]] bool is_finite(const float* sums, std::int64_t rows);

/// sums = sums + bias, of so many rows.
void add_bias(float* sums, const float* bias, std::int64_t rows);

}  // namespace attn::backends::onednn
