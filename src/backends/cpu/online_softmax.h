// A softmax over rows of scores that come a tile at a time (Milakov and Gimelshein, Online normalizer calculation for
// softmax, 2018).
#pragma once

#include <cstdint>

#include "amx_tiles.h"

namespace attn::backends::cpu {

/// log₂ e: 2^(kLog2E·x) = eˣ.
inline constexpr float kLog2E = 1.44269504F;

/// State of rows, a multiple of 16 of which are kept: what stands for e^(scale·x) is 2^(factor·(x − maximum)).
struct RunningRows {
  float* maxima;   ///< of the scores so far; −∞ before the first
  float* sums;     ///< of what stands for them; 0 before the first
  float* shrinks;  ///< by which a tile makes smaller what was summed before it
};

/// So many numbers of each are kept for so many rows.
[[nodiscard]] constexpr std::int64_t kept_rows(std::int64_t rows) { return (rows + 15) / 16 * 16; }

/// Begins rows anew.
void begin_rows(const RunningRows& running, std::int64_t rows);

/// The scores (rows, keys), `stride` numbers apart, become 2^(factor·(x − maximum)) with the maximum of all so far, and
/// `running` follows. factor is above 0. A row is written up to a multiple of 16. Rows with a NaN or +∞ become NaN; so
/// long as all scores are −∞, they stand for 0.
void soften(float* scores, std::int64_t stride, std::int64_t rows, std::int64_t keys, float factor,
            const RunningRows& running);

/// The same, but what becomes of the scores are `parts` bfloat16 of each number, as rows of x's block
/// (amx_pack.h); they are worthless in rows whose sum is NaN. With fewer parts e is less exact too.
void soften_into_tiles(float* scores, std::int64_t stride, std::int64_t rows, std::int64_t keys, float factor,
                       const RunningRows& running, int parts, Bfloat16* weights);

}  // namespace attn::backends::cpu
