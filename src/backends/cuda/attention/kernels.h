// The kernels of the table, and what they have in common on the host.
#pragma once

#include <string>

#include "attention.h"
#include "device.h"
#include "tiles.h"

namespace attn::cuda {

/// Any problem, one warp a query: what the others must give.
[[nodiscard]] std::string why_not_plain(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_plain(const AttentionProblem& problem, const Device& device);

/// float32 without tensor cores, head sizes to 256.
[[nodiscard]] std::string why_not_flash_fma(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_flash_fma(const AttentionProblem& problem, const Device& device);

/// float16 and bfloat16 on the tensor cores of sm_80 and later, head sizes to 256.
[[nodiscard]] std::string why_not_flash_mma(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_flash_mma(const AttentionProblem& problem, const Device& device);

/// float16 and bfloat16 on Hopper, without windows, scores and masks but those of padding, head sizes to 256.
[[nodiscard]] std::string why_not_flash_sm90(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_flash_sm90(const AttentionProblem& problem, const Device& device);

/// Few queries over many keys, whatever hides keys but lengths; float32, float16, bfloat16, head sizes to 256.
[[nodiscard]] std::string why_not_flash_split(const AttentionProblem& problem, const Device& device);
[[nodiscard]] Launch prepare_flash_split(const AttentionProblem& problem, const Device& device);

/// Why no tiled kernel takes it: a scale that would turn the order of scores round, sizes beyond 32 bits; or "".
[[nodiscard]] std::string why_not_tiled(const AttentionProblem& problem);
/// How the queries are tiled, `rows` to a tile.
[[nodiscard]] Tiling tile_queries(const AttentionProblem& problem, int rows, const Device& device);
/// Whether the rows of an array with heads of this size begin at, and consist of, whole 16-byte vectors.
[[nodiscard]] bool has_vectors(const AttentionProblem& problem, const HeadsView& view, std::int64_t size);
/// The same problem with a window that hides nothing taken away, and no other so wide that sums with it overflow.
[[nodiscard]] AttentionProblem with_plain_window(AttentionProblem problem);

}  // namespace attn::cuda
