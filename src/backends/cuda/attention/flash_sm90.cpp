#include "flash_sm90.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <memory>
#include <numbers>
#include <span>

#include "attn/base/error.h"
#include "kernels.h"
#include "tensor_map.h"
#include "time_limits.h"

namespace attn::cuda {
namespace {

constexpr std::int64_t kMostRows = std::int64_t{1} << 30;

FlashSm90Tiles tiles_for(const AttentionProblem& problem) {
  const std::int64_t size = std::max(problem.H, problem.V);
  if (size <= 64) return kFlashSm90Tiles64;
  if (size > 128) return kFlashSm90Tiles256;
  return problem.causal || problem.masks > 0 ? kFlashSm90Tiles128 : kFlashSm90LongTiles128;
}

/// Describes an array (batch, rows, heads, size) in boxes of 64 columns and `box_rows` rows of one head.
void encode(CUtensorMap& map, const AttentionProblem& problem, const HeadsView& view, std::int64_t rows,
            std::int64_t heads, std::int64_t size, int box_rows) {
  constexpr std::int64_t kBytes = 2;
  const bool sequences = problem.starts != nullptr;
  encode_boxes(map, problem.dtype, view.data, {size, heads, sequences ? problem.rows : rows, sequences ? 1 : problem.B},
               {view.head_stride * kBytes, view.row_stride * kBytes, view.batch_stride * kBytes}, box_rows);
}

bool fits_map(const AttentionProblem& problem, const HeadsView& view, std::int64_t size) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 38;  // the largest stride, in elements
  return has_vectors(problem, view, size) && view.head_stride > 0 && view.row_stride > 0 && view.batch_stride > 0 &&
         std::max({view.head_stride, view.row_stride, view.batch_stride}) < kLargest;
}

bool is_of_keys(const MaskView& mask) { return mask.strides[1] == 0 && mask.strides[2] == 0 && mask.strides[3] == 1; }
bool is_of_queries(const MaskView& mask) {
  return mask.strides[1] == 0 && mask.strides[2] == 1 && mask.strides[3] == 0;
}

/// Supports the masks that padding produces: one mask of keys and one of queries, shared by all heads.
std::string why_not_masks(const AttentionProblem& problem) {
  const std::span<const MaskView> masks(problem.mask, static_cast<std::size_t>(problem.masks));
  const auto keys = std::ranges::count_if(masks, is_of_keys), queries = std::ranges::count_if(masks, is_of_queries);
  if (keys + queries < problem.masks) return "a mask covers neither only keys nor only queries";
  if (keys > 1 || queries > 1) return "there are two masks of one kind";
  if (problem.masks > 0 && problem.causal) return "there are masks, and it is causal";
  if (problem.masks > 0 && problem.lengths != nullptr) return "there are masks and lengths";
  return "";
}

}  // namespace

std::string why_not_flash_sm90(const AttentionProblem& problem, const Device& device) {
  if (problem.dtype != DType::float16 && problem.dtype != DType::bfloat16) return "not in half precision";
  if (device.architecture() != 90) return "needs sm_90";
  if (!kHasSm90Code) return "this build has no code for sm_90a (ATTN_CUDA_ARCHITECTURES)";
  if (std::max(problem.H, problem.V) > 256) return "a head size is above 256";
  if (std::string reason = why_not_tiled(problem); !reason.empty()) return reason;
  if (problem.T <= 64) return "two thirds of a tile of queries would be empty";
  if (std::string reason = why_not_masks(problem); !reason.empty()) return reason;
  if (problem.length != nullptr) return "the number of keys is known only on the GPU";
  if (problem.rows > kMostRows) return "sequences have more than 2^30 rows";
  if (with_plain_window(problem).window > 0) return "there is a window";
  if (problem.scores != nullptr) return "the scores are requested";
  if (!fits_map(problem, problem.query, problem.H) || !fits_map(problem, problem.key, problem.H) ||
      !fits_map(problem, problem.value, problem.V)) {
    return "rows are not whole 16-byte vectors";
  }
  if (tiles_for(problem).shared_bytes() > device.shared_bytes()) return "too little shared memory";
  return "";
}

namespace {

FlashSm90 given_of(const AttentionProblem& problem, const FlashSm90Tiles& tiles) {
  FlashSm90 given;
  encode(given.query, problem, problem.query, problem.T, problem.N, problem.H, 64);
  encode(given.key, problem, problem.key, problem.S, problem.K, problem.H, tiles.keys);
  encode(given.value, problem, problem.value, problem.S, problem.K, problem.V, tiles.keys);
  given.context = problem.context;
  given.log_sum_exp = problem.log_sum_exp;
  given.lengths = problem.lengths;
  given.starts = problem.starts;
  given.rows = static_cast<int>(problem.rows);
  for (int i = 0; i < problem.masks; ++i) {
    const MaskView& mask = problem.mask[i];
    (is_of_keys(mask) ? given.key_mask : given.query_mask) = mask.data;
    (is_of_keys(mask) ? given.key_mask_stride : given.query_mask_stride) = mask.strides[0];
  }
  given.T = static_cast<int>(problem.T);
  given.S = static_cast<int>(problem.S);
  given.N = static_cast<int>(problem.N);
  given.K = static_cast<int>(problem.K);
  given.V = static_cast<int>(problem.V);
  given.scale = static_cast<float>(problem.scale * std::numbers::log2e);
  given.causal = problem.causal;
  given.uniform_if_empty = problem.path == graph::AttentionPath::fused;
  given.stores_vectors = has_vectors(problem, problem.context, problem.V);
  return given;
}

}  // namespace

Launch prepare_flash_sm90(const AttentionProblem& problem, const Device& device) {
  const FlashSm90Tiles tiles = tiles_for(problem);
  FlashSm90 given = given_of(problem, tiles);
  given.tiling = tile_queries(problem, tiles.queries(), device);
  const std::shared_ptr<std::byte> ticket = allocate_device(sizeof(unsigned));
  check(cudaMemsetAsync(ticket.get(), 0, sizeof(unsigned), nullptr), "clearing a counter");
  await(cudaStream_t{}, time_limits().seconds, "clearing a counter");
  given.next_block = reinterpret_cast<unsigned*>(ticket.get());
  const int blocks = static_cast<int>(std::min<std::int64_t>(given.tiling.blocks(), device.processors()));
  const Launch launch = problem.dtype == DType::float16 ? make_flash_sm90<__half>(given, tiles, blocks)
                                                        : make_flash_sm90<__nv_bfloat16>(given, tiles, blocks);
  return [launch, ticket](cudaStream_t stream) { launch(stream); };
}

}  // namespace attn::cuda
