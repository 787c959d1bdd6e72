// Online softmax over rows of scores that arrive one tile at a time (Milakov and Gimelshein, Online normalizer
// calculation for softmax, 2018).
#pragma once

#include <cstdint>

#include "gemm/amx_tiles.h"

namespace attn::backends::cpu {

/// log₂ e: 2^(kLog2E·x) = eˣ.
inline constexpr float kLog2E = 1.44269504F;

/// The state of rows, padded to a multiple of 16. A weight e^(scale·x) is represented as 2^(factor·(x − maximum)).
struct RunningRows {
  float* maxima;   ///< maxima of the scores so far; −∞ initially
  float* sums;     ///< sums of the weights so far; 0 initially
  float* shrinks;  ///< factor by which the latest tile rescales the earlier sums
};

/// Returns the padded number of rows.
[[nodiscard]] constexpr std::int64_t kept_rows(std::int64_t rows) { return (rows + 15) / 16 * 16; }

/// Resets rows.
void begin_rows(const RunningRows& running, std::int64_t rows);

/// Replaces the scores (rows, keys), with row stride `stride`, by 2^(factor·(x − maximum)), where maximum is the
/// running one, and updates `running`. factor is above 0. A row is written up to a multiple of 16. Rows with a NaN or
/// +∞ become NaN; while all scores are −∞, the weights are 0.
void soften(float* scores, std::int64_t stride, std::int64_t rows, std::int64_t keys, float factor,
            const RunningRows& running);

/// Computes the weights 2^(factor·(x − maximum)) as soften() does, and writes them as `parts` bfloat16 per number, in
/// rows of an x block (amx_pack.h). Weights are invalid in rows whose sum is NaN. With fewer parts the exponential is
/// less accurate too.
void soften_into_tiles(float* scores, std::int64_t stride, std::int64_t rows, std::int64_t keys, float factor,
                       const RunningRows& running, int parts, Bfloat16* weights);

}  // namespace attn::backends::cpu
