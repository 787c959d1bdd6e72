// float32 numbers as sums of bfloat16, laid out for tiles.
//
// A number is the sum of three parts, each the bfloat16 nearest to what the parts before leave: 24 bits, all that it
// has. (Below 2⁻¹⁰³ the last parts may be denormal, which tiles take for zero: less than 2⁻¹²⁶ is lost.) Where the
// nearest bfloat16 would be infinite and the number is not, the first part is the one towards zero. Infinity and NaN
// are their own first part and the others zero.
//
// Matrices are cut into blocks of 32 rows of x or 32 columns of w, and those into steps of 32 along the depth. A step
// of a block is, for each part, two tiles: its first and its last 16 rows or columns. What is beyond the matrix is
// zero.
#pragma once

#include <cstdint>

#include "amx_tiles.h"
#include "attn/base/dtype.h"

namespace attn::backends::cpu {

/// Rows or columns of a block, and the numbers of one part of a step.
inline constexpr std::int64_t kTileBlock = 32, kTilePart = 2 * kTileNumbers;

[[nodiscard]] constexpr std::int64_t tile_steps(std::int64_t depth) { return (depth + kTileDepth - 1) / kTileDepth; }

/// Numbers of a packed block.
[[nodiscard]] constexpr std::int64_t tile_block_size(std::int64_t depth, int parts) {
  return tile_steps(depth) * parts * kTilePart;
}

/// Rows [first, first + rows) of a block, of 32, from x(i, k) at x[i·stride + k], k < depth: float32, or bfloat16 with
/// one part.
void pack_tile_rows(DType dtype, const void* x, std::int64_t stride, std::int64_t first, std::int64_t rows,
                    std::int64_t depth, int parts, Bfloat16* block);

/// A block of columns w(k, j), k < depth and j < width ≤ 32, found at w[k·stride + j]; float32, or bfloat16 with one
/// part.
void pack_tile_columns(DType dtype, const void* w, std::int64_t depth, std::int64_t width, std::int64_t stride,
                       int parts, Bfloat16* block);

/// Rows of x become columns of w.
void transpose_tile_block(std::int64_t depth, int parts, Bfloat16* block);

/// y[j] = Σ x(row, k)·w(k, j) over a block of 32 columns, of the parts put together again, in float32 as other products
/// are: without zeroing denormals, and infinite or NaN just where the sum is.
void multiply_tile_row(const Bfloat16* x, std::int64_t row, const Bfloat16* w, std::int64_t depth, int parts, float* y);

}  // namespace attn::backends::cpu
