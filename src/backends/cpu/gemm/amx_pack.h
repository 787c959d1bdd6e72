// float32 numbers as sums of bfloat16, packed for tile registers.
//
// A number is the sum of three parts, each the bfloat16 nearest to the remainder of the earlier parts: 24 bits, the
// full mantissa. Below 2⁻¹⁰³ the last parts may be denormal, which tiles flush to zero; the loss is less than 2⁻¹²⁶. If
// the nearest bfloat16 of a finite number would be infinite, the first part is rounded towards zero. For infinity and
// NaN the first part is the number itself, and the others are zero.
//
// Matrices are cut into blocks of 32 rows of x, or 32 columns of w. Blocks are cut into steps of 32 along the depth.
// For each part, a step of a block has two tiles: its first and its last 16 rows or columns. Padding is zero.
#pragma once

#include <cstdint>

#include "amx_tiles.h"
#include "attn/base/dtype.h"

namespace attn::backends::cpu {

/// Rows (or columns) of a block; numbers of one part of a step.
inline constexpr std::int64_t kTileBlock = 32, kTilePart = 2 * kTileNumbers;

[[nodiscard]] constexpr std::int64_t tile_steps(std::int64_t depth) { return (depth + kTileDepth - 1) / kTileDepth; }

/// Returns the size of a packed block in bfloat16 numbers.
[[nodiscard]] constexpr std::int64_t tile_block_size(std::int64_t depth, int parts) {
  return tile_steps(depth) * parts * kTilePart;
}

/// Packs rows [first, first + rows) of a block of 32 rows from x(i, k) at x[i·stride + k], k < depth. x is float32, or
/// bfloat16 with one part.
void pack_tile_rows(DType dtype, const void* x, std::int64_t stride, std::int64_t first, std::int64_t rows,
                    std::int64_t depth, int parts, Bfloat16* block);

/// Packs a block of columns w(k, j), k < depth and j < width ≤ 32, from w[k·stride + j]. w is float32, or bfloat16 with
/// one part.
void pack_tile_columns(DType dtype, const void* w, std::int64_t depth, std::int64_t width, std::int64_t stride,
                       int parts, Bfloat16* block);

/// Converts packed rows of x to packed columns of w.
void transpose_tile_block(std::int64_t depth, int parts, Bfloat16* block);

/// Computes y[j] = Σ x(row, k)·w(k, j) for a block of 32 columns in float32, from numbers that are put together from
/// their parts. Denormals are kept, and a sum is infinite or NaN exactly when the float32 sum is.
void multiply_tile_row(const Bfloat16* x, std::int64_t row, const Bfloat16* w, std::int64_t depth, int parts, float* y);

}  // namespace attn::backends::cpu
