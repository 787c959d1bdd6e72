// float32 numbers as sums of bfloat16, packed for tile registers.
//
// A number is the sum of three parts, each the bfloat16 nearest to the remainder of the earlier parts: 24 bits,
// the full mantissa. Below 2⁻¹⁰³ the last parts may be denormal, which tiles flush to zero: less than 2⁻¹²⁶ is
// lost. If the nearest bfloat16 would be infinite and the number is not, the first part is rounded towards zero.
// For infinity and NaN the first part is the number itself and the others are zero.
//
// Matrices are cut into blocks of 32 rows of x or 32 columns of w, and those into steps of 32 along the depth. A
// step of a block consists of two tiles for each part: its first and its last 16 rows or columns. Padding is
// zero.
#pragma once

#include <cstdint>

#include "amx_tiles.h"
#include "attn/base/dtype.h"

namespace attn::backends::cpu {

/// Rows or columns of a block, and the numbers of one part of a step.
inline constexpr std::int64_t kTileBlock = 32, kTilePart = 2 * kTileNumbers;

[[nodiscard]] constexpr std::int64_t tile_steps(std::int64_t depth) { return (depth + kTileDepth - 1) / kTileDepth; }

/// Returns the numbers of a packed block.
[[nodiscard]] constexpr std::int64_t tile_block_size(std::int64_t depth, int parts) {
  return tile_steps(depth) * parts * kTilePart;
}

/// Packs rows [first, first + rows) of a block, of 32, from x(i, k) at x[i·stride + k], k < depth: float32, or bfloat16
/// with one part.
void pack_tile_rows(DType dtype, const void* x, std::int64_t stride, std::int64_t first, std::int64_t rows,
                    std::int64_t depth, int parts, Bfloat16* block);

/// Packs a block of columns w(k, j), k < depth and j < width ≤ 32, from w[k·stride + j]: float32, or bfloat16 with one
/// part.
void pack_tile_columns(DType dtype, const void* w, std::int64_t depth, std::int64_t width, std::int64_t stride,
                       int parts, Bfloat16* block);

/// Converts packed rows of x to packed columns of w.
void transpose_tile_block(std::int64_t depth, int parts, Bfloat16* block);

/// Computes y[j] = Σ x(row, k)·w(k, j) for a block of 32 columns in float32, from the recombined parts. Denormals are
/// kept, and a sum is infinite or NaN exactly when the float32 sum is.
void multiply_tile_row(const Bfloat16* x, std::int64_t row, const Bfloat16* w, std::int64_t depth, int parts, float* y);

}  // namespace attn::backends::cpu
