#include "flash_mma.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <numbers>

#include "kernels.h"

namespace attn::cuda {
namespace {

int rounded_size(const AttentionProblem& problem) {
  const std::int64_t size = std::max(problem.H, problem.V);
  return *std::ranges::find_if(kFlashMmaSizes, [size](int one) { return one >= size; });
}

}  // namespace

std::string why_not_flash_mma(const AttentionProblem& problem, const Device& device) {
  if (problem.dtype != DType::float16 && problem.dtype != DType::bfloat16) return "not in half precision";
  if (device.architecture() < 80) return "needs sm_80 or later";
  if (std::max(problem.H, problem.V) > 256) return "a head size is above 256";
  if (std::string reason = why_not_tiled(problem); !reason.empty()) return reason;
  // Rejects problems where a query may see no key and gets the mean of all values, including padding. NaN in the
  // padding would reach the other queries of its tile, whose weight for that mean is 0.
  const bool some_see_none = problem.masks > 0 || with_plain_window(problem).window > 0;
  if (problem.lengths != nullptr && some_see_none && problem.path == graph::AttentionPath::fused) {
    return "it has lengths together with masks or a window";
  }
  if (flash_mma_shared_bytes(rounded_size(problem), 1) > device.shared_bytes()) return "too little shared memory";
  return "";
}

Launch prepare_flash_mma(const AttentionProblem& problem, const Device& device) {
  FlashMma given;
  given.problem = with_plain_window(problem);
  given.scale = static_cast<float>(problem.scale * std::numbers::log2e);
  given.copies_vectors[0] = has_vectors(problem, problem.query, problem.H);
  given.copies_vectors[1] = has_vectors(problem, problem.key, problem.H);
  given.copies_vectors[2] = has_vectors(problem, problem.value, problem.V);
  given.stores_vectors = has_vectors(problem, problem.context, problem.V);

  // Two tiles per warp double the queries per block, which reuses each load of keys and values twice. They are used
  // only if every processor still has blocks.
  const int size = rounded_size(problem);
  const std::int64_t blocks = tile_queries(problem, flash_mma_queries(2), device).blocks();
  const bool wide = size <= 128 && problem.T > flash_mma_queries(1) && blocks >= device.processors() &&
                    flash_mma_shared_bytes(size, 2) <= device.shared_bytes();
  given.tiling = tile_queries(problem, flash_mma_queries(wide ? 2 : 1), device);
  return problem.dtype == DType::float16 ? make_flash_mma<__half>(given, size, wide ? 2 : 1)
                                         : make_flash_mma<__nv_bfloat16>(given, size, wide ? 2 : 1);
}

}  // namespace attn::cuda
