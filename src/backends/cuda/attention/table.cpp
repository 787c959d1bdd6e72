#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels.h"

namespace attn::cuda {

std::string why_not_tiled(const AttentionProblem& problem) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max() - 1024;  // a tile may reach beyond
  if (!(problem.scale > 0.0) || !std::isfinite(problem.scale)) return "the scale is not a positive number";
  if (problem.T > kLargest || problem.S > kLargest) return "a sequence has more than 2^31 positions";
  if (problem.S == 0 || problem.H == 0 || problem.V == 0) return "an axis is empty";
  return "";
}

AttentionProblem with_plain_window(AttentionProblem problem) {
  if (problem.window >= std::max(problem.T, problem.S)) problem.window = 0;
  return problem;
}

std::span<const AttentionKernel> attention_kernels() {
  static constexpr AttentionKernel kKernels[] = {
      {"plain", why_not_plain, prepare_plain},
  };
  return kKernels;
}

}  // namespace attn::cuda
