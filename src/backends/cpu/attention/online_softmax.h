// Online softmax over rows of scores that arrive one tile at a time (Milakov and Gimelshein, Online normalizer
// calculation for softmax, 2018).
#pragma once

#include <cstdint>

#include "gemm/amx_tiles.h"

namespace attn::backends::cpu {

/// log₂ e: 2^(kLog2E·x) = eˣ.
inline constexpr float kLog2E = 1.44269504F;

/// The state of rows, padded to a multiple of 16. A weight e^(scale·x) is computed as 2^(factor·(x − maximum)).
struct RunningRows {
  float* maxima;   ///< maxima of the scores so far; −∞ initially
  float* sums;     ///< sums of the weights so far; 0 initially
  float* shrinks;  ///< the factors by which the latest tile rescales the earlier sums
};

/// Returns the padded number of rows.
[[nodiscard]] constexpr std::int64_t kept_rows(std::int64_t rows) { return (rows + 15) / 16 * 16; }

/// Initializes the state of rows.
void begin_rows(const RunningRows& running, std::int64_t rows);

/// Updates `running` by a tile of scores (rows, keys) with row stride `stride`, and replaces each score x by its weight
/// 2^(factor·(x − running maximum)). `factor` is above 0. A row is written up to a multiple of 16 columns. Rows with a
/// NaN or +∞ become NaN; while all scores of a row are −∞, its weights are 0.
void soften(float* scores, std::int64_t stride, std::int64_t rows, std::int64_t keys, float factor,
            const RunningRows& running);

/// Updates `running` as soften() does, and writes each weight as a sum of `parts` bfloat16 numbers, in rows of an x
/// block (amx_pack.h). The scores are overwritten. Weights are invalid in rows whose sum is NaN. With fewer parts, the
/// exponential is less accurate too.
void soften_into_tiles(float* scores, std::int64_t stride, std::int64_t rows, std::int64_t keys, float factor,
                       const RunningRows& running, int parts, Bfloat16* weights);

}  // namespace attn::backends::cpu
