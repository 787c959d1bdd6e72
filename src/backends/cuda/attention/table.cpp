#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels.h"

namespace attn::cuda {

std::string why_not_tiled(const AttentionProblem& problem) {
  constexpr std::int64_t kLongest = std::int64_t{1} << 30;  // so that sums of positions and tiles fit into 32 bits
  if (!(problem.scale > 0.0) || !std::isfinite(problem.scale)) return "the scale is not a positive number";
  if (problem.T > kLongest || problem.S > kLongest) return "a sequence has more than 2^30 positions";
  if (problem.T + 16 > kLongest / problem.B / problem.N * 16) return "there are more than 2^30 tiles";
  if (problem.soft_cap > 0.0) return "scores are capped";
  if (problem.bias.data != nullptr) return "there is a bias";
  if (problem.key_dtype != problem.dtype) return "keys and values are of another dtype than queries";
  if (problem.sources != nullptr) return "rows of a batch entry are in several entries of the cache";
  if (problem.S == 0 || problem.H == 0 || problem.V == 0) return "an axis is empty";
  return "";
}

Tiling tile_queries(const AttentionProblem& problem, int rows, const Device& device) {
  Tiling tiling;
  tiling.tiles = static_cast<unsigned>((problem.T + rows - 1) / rows);
  tiling.heads = static_cast<unsigned>(problem.B * problem.N);
  if (problem.causal) {
    // Tiles of several heads are interleaved, as long as the keys and values of these heads fit into half of the L2
    // cache.
    const std::int64_t bytes = problem.S * (problem.H + problem.V) * bytes_of(problem.dtype);
    const std::int64_t heads = device.l2_bytes() / 2 / bytes * (problem.N / problem.K);
    tiling.group =
        heads_of_group(static_cast<unsigned>(std::clamp<std::int64_t>(heads, 1, tiling.heads)), tiling.heads);
  }
  return tiling;
}

bool has_vectors(const AttentionProblem& problem, const HeadsView& view, std::int64_t size) {
  const std::int64_t elements = 16 / bytes_of(problem.dtype);
  const auto whole = [elements](std::int64_t stride) { return stride % elements == 0; };
  return reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0 && whole(size) && whole(view.head_stride) &&
         whole(view.row_stride) && whole(view.batch_stride);
}

AttentionProblem with_plain_window(AttentionProblem problem) {
  if (problem.window >= std::max(problem.T, problem.S)) problem.window = 0;
  return problem;
}

std::span<const AttentionKernel> attention_kernels() {
  static constexpr AttentionKernel kKernels[] = {
      {"flash sm90", why_not_flash_sm90, prepare_flash_sm90},
      {"flash split", why_not_flash_split, prepare_flash_split},
      {"flash mma", why_not_flash_mma, prepare_flash_mma},
      {"flash fma", why_not_flash_fma, prepare_flash_fma},
      {"plain", why_not_plain, prepare_plain},
  };
  return kKernels;
}

}  // namespace attn::cuda
