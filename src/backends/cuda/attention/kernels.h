// The kernels of the table, and their common host code.
#pragma once

#include <string>

#include "attention.h"
#include "device.h"
#include "tiles.h"

namespace attn::cuda {

/// Any problem, one warp per query: the definition that the others are checked against.
[[nodiscard]] std::string why_not_plain(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_plain(const AttentionProblem& problem, const Device& device);

/// float32 without tensor cores, head sizes up to 256.
[[nodiscard]] std::string why_not_flash_fma(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_flash_fma(const AttentionProblem& problem, const Device& device);

/// float16 and bfloat16 on the tensor cores of sm_80 and later, head sizes up to 256.
[[nodiscard]] std::string why_not_flash_mma(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_flash_mma(const AttentionProblem& problem, const Device& device);

/// float16 and bfloat16 on Hopper, head sizes up to 256; no windows, no scores, and only padding masks.
[[nodiscard]] std::string why_not_flash_sm90(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_flash_sm90(const AttentionProblem& problem, const Device& device);

/// Few queries over many keys, any mask except lengths; float32, float16, bfloat16, head sizes up to 256.
[[nodiscard]] std::string why_not_flash_split(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_flash_split(const AttentionProblem& problem, const Device& device);

/// Returns the reason why no tiled kernel takes it, or "": a scale that would reverse the order of scores, or sizes
/// beyond 32 bits.
[[nodiscard]] std::string why_not_tiled(const AttentionProblem& problem);
/// Tiles the queries, `rows` per tile.
[[nodiscard]] Tiling tile_queries(const AttentionProblem& problem, int rows, const Device& device);
/// Returns whether the rows of an array with this head size are aligned to, and made of, whole 16-byte vectors.
[[nodiscard]] bool has_vectors(const AttentionProblem& problem, const HeadsView& view, std::int64_t size);
/// Returns the problem without a window that hides nothing: one of at least max(T, S) positions becomes 0. Sums with
/// the window then do not overflow.
[[nodiscard]] AttentionProblem with_plain_window(AttentionProblem problem);

}  // namespace attn::cuda
