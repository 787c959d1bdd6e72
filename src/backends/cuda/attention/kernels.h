// The kernels of the table, and the host code that they share.
#pragma once

#include <string>

#include "attention.h"
#include "device.h"
#include "tiles.h"

namespace attn::cuda {

/// Supports any problem, with one warp per query. It defines the results that the other kernels are checked against.
[[nodiscard]] std::string why_not_plain(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_plain(const AttentionProblem& problem, const Device& device);

/// Supports float32 without tensor cores, for head sizes up to 256.
[[nodiscard]] std::string why_not_flash_fma(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_flash_fma(const AttentionProblem& problem, const Device& device);

/// Supports float16 and bfloat16 on the tensor cores of sm_80 and later, for head sizes up to 256.
[[nodiscard]] std::string why_not_flash_mma(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_flash_mma(const AttentionProblem& problem, const Device& device);

/// Supports float16 and bfloat16 on Hopper, for head sizes up to 256, without windows and scores, and only with padding
/// masks.
[[nodiscard]] std::string why_not_flash_sm90(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_flash_sm90(const AttentionProblem& problem, const Device& device);

/// Supports few queries over many keys in float32, float16 and bfloat16, with any mask except lengths, for head sizes
/// up to 256.
[[nodiscard]] std::string why_not_flash_split(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_flash_split(const AttentionProblem& problem, const Device& device);

/// Returns the reason why no tiled kernel supports the problem, or "". Reasons are a scale that would reverse the order
/// of scores, and sizes beyond 32 bits.
[[nodiscard]] std::string why_not_tiled(const AttentionProblem& problem);
/// Splits the queries into tiles of `rows` rows.
[[nodiscard]] Tiling tile_queries(const AttentionProblem& problem, int rows, const Device& device);
/// Returns whether the rows of an array with this head size are aligned to, and made of, whole 16-byte vectors.
[[nodiscard]] bool has_vectors(const AttentionProblem& problem, const HeadsView& view, std::int64_t size);
/// Returns the problem with window 0 if its window of at least max(T, S) positions hides nothing. Sums with the window
/// then do not overflow.
[[nodiscard]] AttentionProblem with_plain_window(AttentionProblem problem);

}  // namespace attn::cuda
