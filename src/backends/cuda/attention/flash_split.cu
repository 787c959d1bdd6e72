// Attention of few queries over many keys, as in decode steps: one pass over the KV cache, whose keys are split among
// blocks (Flash-Decoding). A block computes all queries of the heads that share its keys and values. It stores its
// maximum score, its sum of weights and its weighted sum of values. A second kernel merges the results.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <memory>
#include <numbers>

#include "kernels.h"
#include "kernels/number.h"
#include "kernels/pack.h"
#include "kernels/threads.h"
#include "ptx.h"
#include "visible.h"

namespace attn::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarpThreads;
constexpr int kKeys = 64;                  // keys per tile
constexpr int kLanes = 8;                  // lanes that share the dot product of a key
constexpr int kColumns = 4;                // value columns per thread
constexpr int kMostRows = 8;               // maximum number of queries, over all heads that share keys and values
constexpr std::int64_t kMostSize = 256;    // maximum head size
constexpr std::int64_t kFewestKeys = 128;  // minimum number of keys per block
constexpr float kHidden = -0.7F * FLT_MAX;
static_assert(kMostRows <= kLanes);

struct FlashSplit {
  AttentionProblem problem;
  int splits = 1;            ///< number of blocks among which the keys of a head are split
  int rows = 1;              ///< queries per key head: row r is query r % T of head r / T in the group
  float* partial = nullptr;  ///< (B·K, splits, rows, V + 2): the weighted sum, the largest score, the sum of weights

  [[nodiscard]] __host__ __device__ std::int64_t width() const { return problem.V + 2; }
};

template <int Rows>
struct SplitShared {
  float query[Rows][kMostSize];
  float weights[Rows][kKeys];
  float top[Rows], sum[Rows], factor[Rows];
  float context[kThreads * kColumns];
};

/// Returns a score in base 2. A hidden key has no weight; on the fused path all keys count equally if all are hidden.
__device__ inline float score_of(const AttentionProblem& problem, float product, const KeyRange<int>& range,
                                 std::int64_t b, std::int64_t n, std::int64_t t, std::int64_t s) {
  constexpr float kLog2e = std::numbers::log2e_v<float>;
  if (s < range.first || s >= range.last || !masks_allow(problem, b, n, t, s)) {
    return problem.path == graph::AttentionPath::fused ? kHidden : -INFINITY;
  }
  if (problem.soft_cap == 0.0 && problem.bias.data == nullptr)
    return product * static_cast<float>(problem.scale * std::numbers::log2e);
  float score = product * static_cast<float>(problem.scale);
  if (problem.soft_cap > 0.0) {
    const auto cap = static_cast<float>(problem.soft_cap);
    score = cap * tanhf(score / cap);
  }
  if (problem.bias.data != nullptr) {
    const Array bias{problem.bias.data, problem.dtype};
    score += load<float>(bias, problem.bias.offset(b, n, t, s));
  }
  return score * kLog2e;
}

template <typename T, int Rows>
__global__ void __launch_bounds__(kThreads, 3) flash_split(const __grid_constant__ FlashSplit given) {
  let_next_kernel_start();
  wait_for_previous_kernel();
  const AttentionProblem& problem = given.problem;
  check_length(problem);
  auto& shared = *shared_memory<SplitShared<Rows>>();
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kLanes;
  // Divides in 32 bits, because 64-bit divisions are function calls.
  const auto key_heads = static_cast<int>(problem.K), length = static_cast<int>(problem.T);
  const auto size = static_cast<int>(problem.H), columns = static_cast<int>(problem.V);
  const int head = static_cast<int>(blockIdx.y), b = head / key_heads, k = head % key_heads;
  const auto there = static_cast<int>(keys_there(problem, b)), keys = static_cast<int>(keys_of(problem, b));
  const int share = ((there + given.splits - 1) / given.splits + kKeys - 1) / kKeys * kKeys;
  const int begin = static_cast<int>(blockIdx.x) * share, end = begin + share < there ? begin + share : there;
  const auto head_of = [&](int row) { return k * (given.rows / length) + row / length; };

  const T* const queries = reinterpret_cast<const T*>(problem.query.data) + b * problem.query.batch_stride;
  for (int i = thread; i < Rows * size; i += kThreads) {
    const int row = i / size, h = i % size;
    const std::int64_t from = row % length * problem.query.row_stride + head_of(row) * problem.query.head_stride;
    shared.query[row][h] = row < given.rows ? to_float(queries[from + h]) : 0.0F;
  }
  if (thread < Rows) {
    shared.top[thread] = -INFINITY;
    shared.sum[thread] = 0.0F;
  }
  // For values, neighboring threads read neighboring columns of a key, then of the next keys.
  const int of_key = columns / kColumns, keys_at_once = kThreads / of_key;
  const int column = thread % of_key * kColumns, first_key = thread / of_key;
  float context[Rows][kColumns] = {};
  __syncthreads();

  for (int start = begin; start < end; start += kKeys) {
#pragma unroll 1
    for (int j = thread / kLanes; j < kKeys; j += kThreads / kLanes) {
      const int s = start + j;
      const bool inside = s < end;
      float products[Rows] = {};
      if (inside) {
        const T* const key = reinterpret_cast<const T*>(problem.key.data) +
                             entry_of(problem, b, s) * problem.key.batch_stride + s * problem.key.row_stride +
                             k * problem.key.head_stride;
        for (int h = lane * kPack<T>; h < size; h += kLanes * kPack<T>) {
          float numbers[kPack<T>];
          load_pack(key + h, numbers);
#pragma unroll
          for (int r = 0; r < Rows; ++r) {
#pragma unroll
            for (int e = 0; e < kPack<T>; ++e) products[r] += shared.query[r][h + e] * numbers[e];
          }
        }
      }
      float mine = 0.0F;  // lane r gets the product of row r
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
#pragma unroll
        for (int step = kLanes / 2; step > 0; step /= 2) products[r] += __shfl_xor_sync(~0U, products[r], step);
        if (lane == r) mine = products[r];
      }
      if (lane >= Rows) continue;
      float score = -INFINITY;
      if (inside && lane < given.rows) {
        const int t = lane % length;
        score = score_of(problem, mine, keys_seen<int>(problem, keys, t, 1), b, head_of(lane), t, s);
      }
      shared.weights[lane][j] = score;
    }
    __syncthreads();
    const int warp = thread / kWarpThreads, place = thread % kWarpThreads;
#pragma unroll 1
    for (int r = warp; r < Rows; r += kWarps) {
      float* const weights = shared.weights[r];
      const float before = shared.top[r];
      const float top = warp_max(fmaxf(before, fmaxf(weights[place], weights[place + kWarpThreads])));
      const float base = top == -INFINITY ? 0.0F : top;
      float sum = 0.0F;
#pragma unroll
      for (int i = place; i < kKeys; i += kWarpThreads) {
        weights[i] = ptx::exp2(weights[i] - base);
        sum += weights[i];
      }
      sum = warp_sum(sum);
      if (place > 0) continue;
      shared.factor[r] = ptx::exp2(before - base);
      shared.sum[r] = shared.sum[r] * shared.factor[r] + sum;
      shared.top[r] = top;
    }
    __syncthreads();
    if (first_key < keys_at_once) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
#pragma unroll
        for (int c = 0; c < kColumns; ++c) context[r][c] *= shared.factor[r];
      }
      const int count = end - start < kKeys ? end - start : kKeys;
      for (int j = first_key; j < count; j += keys_at_once) {
        const int s = start + j;
        float numbers[kColumns];
        load_pack(reinterpret_cast<const T*>(problem.value.data) +
                      entry_of(problem, b, s) * problem.value.batch_stride + s * problem.value.row_stride +
                      k * problem.value.head_stride + column,
                  numbers);
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
#pragma unroll
          for (int c = 0; c < kColumns; ++c) context[r][c] += shared.weights[r][j] * numbers[c];
        }
      }
    }
    __syncthreads();
  }

  float* const partial =
      given.partial + (blockIdx.y * std::int64_t{given.splits} + blockIdx.x) * given.rows * given.width();
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (r >= given.rows) break;
    if (first_key < keys_at_once) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) shared.context[first_key * columns + column + c] = context[r][c];
    }
    __syncthreads();
    float* const to = partial + r * given.width();
    for (int v = thread; v < columns; v += kThreads) {
      float sum = 0.0F;
      for (int i = 0; i < keys_at_once; ++i) sum += shared.context[i * columns + v];
      to[v] = sum;
    }
    if (thread == 0) {
      to[columns] = shared.top[r];
      to[columns + 1] = shared.sum[r];
    }
    __syncthreads();
  }
}

/// Merges the blocks' results: one block per query of each head.
template <typename T>
__global__ void __launch_bounds__(kThreads) merge_splits(const __grid_constant__ FlashSplit given) {
  let_next_kernel_start();
  wait_for_previous_kernel();
  const AttentionProblem& problem = given.problem;
  const auto key_heads = static_cast<int>(problem.K), length = static_cast<int>(problem.T);
  const int block = static_cast<int>(blockIdx.x), head = block / given.rows, row = block % given.rows;
  const int b = head / key_heads, n = head % key_heads * (given.rows / length) + row / length, t = row % length;
  const std::int64_t width = given.width();
  const float* const first = given.partial + (std::int64_t{head} * given.splits * given.rows + row) * width;
  const std::int64_t step = given.rows * width;
  float top = -INFINITY;
  for (int i = 0; i < given.splits; ++i) top = fmaxf(top, first[i * step + problem.V]);
  const float base = top == -INFINITY ? 0.0F : top;
  float sum = 0.0F;
  for (int i = 0; i < given.splits; ++i)
    sum += ptx::exp2(first[i * step + problem.V] - base) * first[i * step + problem.V + 1];
  T* const to = reinterpret_cast<T*>(problem.context.data) + b * problem.context.batch_stride +
                t * problem.context.row_stride + n * problem.context.head_stride;
  for (std::int64_t v = threadIdx.x; v < problem.V; v += kThreads) {
    float value = 0.0F;
    for (int i = 0; i < given.splits; ++i) value += ptx::exp2(first[i * step + problem.V] - base) * first[i * step + v];
    to[v] = from_float<T>(sum == 0.0F ? 0.0F : value / sum);
  }
  if (problem.log_sum_exp != nullptr && threadIdx.x == 0) {
    const bool sees_none = top <= kHidden && !isnan(sum);
    problem.log_sum_exp[(b * problem.N + n) * problem.T + t] = sees_none ? -INFINITY : natural_log_sum(top, sum);
  }
}

template <typename T, int Rows>
void launch_split(const FlashSplit& given, cudaStream_t stream) {
  const auto heads = static_cast<unsigned>(given.problem.B * given.problem.K);
  const LaunchShape shape{.grid = dim3(static_cast<unsigned>(given.splits), heads),
                          .block = dim3(kThreads),
                          .shared_bytes = sizeof(SplitShared<Rows>)};
  check(launch(flash_split<T, Rows>, shape, stream, given), "launching attention");
  const LaunchShape merging{
      .grid = dim3(heads * static_cast<unsigned>(given.rows)), .block = dim3(kThreads), .shared_bytes = 0};
  check(launch(merge_splits<T>, merging, stream, given), "launching attention");
}

std::int64_t rows_of(const AttentionProblem& problem) { return problem.T * (problem.N / problem.K); }

int splits_for(const AttentionProblem& problem, const Device& device) {
  const std::int64_t heads = problem.B * problem.K, wanted = (2 * device.processors() + heads - 1) / heads;
  return static_cast<int>(std::max<std::int64_t>(1, std::min(wanted, problem.S / kFewestKeys)));
}

}  // namespace

std::string why_not_flash_split(const AttentionProblem& problem, const Device& device) {
  AttentionProblem rest = problem;  // the problem without the features that only this kernel supports
  rest.soft_cap = 0.0;
  rest.bias.data = nullptr;
  rest.sources = nullptr;
  if (std::string reason = why_not_tiled(rest); !reason.empty()) return reason;
  if (!is_packable(problem.dtype)) return "not in float32 or half precision";
  if (rows_of(problem) > kMostRows) return "more than 8 queries share keys and values";
  if (std::max(problem.H, problem.V) > kMostSize) return "a head size is above 256";
  if (problem.lengths != nullptr || problem.starts != nullptr) return "there are lengths or sequences";
  if (problem.scores != nullptr) return "the scores are requested";
  if (problem.B * problem.K > 65535) return "there are more than 65535 heads";
  if (!has_vectors(problem, problem.key, problem.H) || !has_vectors(problem, problem.value, problem.V))
    return "rows are not whole 16-byte vectors";
  if (problem.sources == nullptr && splits_for(problem, device) == 1)
    return "there are few keys, or heads enough for all processors";
  return "";
}

Launch prepare_flash_split(const AttentionProblem& problem, const Device& device) {
  FlashSplit given;
  given.problem = with_plain_window(problem);
  given.splits = splits_for(problem, device);
  given.rows = static_cast<int>(rows_of(problem));
  const std::int64_t heads = problem.B * problem.K;
  const std::shared_ptr<std::byte> partial =
      allocate_device(heads * given.splits * given.rows * given.width() * std::int64_t{sizeof(float)});
  given.partial = reinterpret_cast<float*>(partial.get());
  return [given, partial](cudaStream_t stream) {
    with_stored(given.problem.dtype, [&](auto zero) {
      using T = decltype(zero);
      if (given.rows == 1) return launch_split<T, 1>(given, stream);
      given.rows <= 4 ? launch_split<T, 4>(given, stream) : launch_split<T, kMostRows>(given, stream);
    });
  };
}

}  // namespace attn::cuda
