// Attention as it is written: a block takes a query, goes over the keys for the largest score and the sum of the
// exponentials, and once more for the probabilities and their mean of the values. Any dtype, any size, any mask.
//
// float64 is computed in double, everything else in float.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "kernels.h"
#include "visible.h"

namespace attn::cuda {
namespace {

using graph::AttentionPath;

constexpr int kThreads = 128;  // of a block; each takes a key, then a column of the values
constexpr int kColumns = 4;    // of the values, of one thread, at a time

__device__ inline double number_of(double x) { return x; }
__device__ inline float number_of(float x) { return x; }
__device__ inline float number_of(__half x) { return __half2float(x); }
__device__ inline float number_of(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename Element, typename Number>
__device__ Element element_of(Number x) {
  if constexpr (std::is_same_v<Element, __half>) {
    return __float2half_rn(x);
  } else if constexpr (std::is_same_v<Element, __nv_bfloat16>) {
    return __float2bfloat16_rn(x);
  } else {
    return x;
  }
}

/// What a hidden score becomes (Keras: ops.dot_product_attention, layers.Softmax).
__device__ inline float hidden_score(const AttentionProblem& problem) {
  if (problem.path == AttentionPath::fused) return -0.7F * FLT_MAX;
  return problem.dtype == DType::float16 ? -3e4F : -1e9F;
}

/// One query of one head.
template <typename Element>
struct Query {
  std::int64_t b, n, t;
  const Element* query;  // (H)
  const Element* key;    // (S, H), rows by row_stride
  const Element* value;  // (S, V)
  KeyRange<std::int64_t> range;
};

template <typename Element>
__device__ const Element* at(const AttentionProblem& problem, const HeadsView& view, std::int64_t b, std::int64_t row,
                             std::int64_t head) {
  return reinterpret_cast<const Element*>(view.data) + begin_of(problem, view, b) + row * view.row_stride +
         head * view.head_stride;
}

/// One score, hidden or not.
template <typename Element, typename Number>
struct Score {
  Number score;
  bool seen;

  __device__ Score(const AttentionProblem& problem, const Query<Element>& row, std::int64_t s) {
    seen = s >= row.range.first && s < row.range.last && masks_allow(problem, row.b, row.n, row.t, s);
    if (!seen) {
      score = hidden_score(problem);
      return;
    }
    const Element* const key = row.key + s * problem.key.row_stride;
    Number product = 0;
    for (std::int64_t h = 0; h < problem.H; ++h) product += number_of(row.query[h]) * number_of(key[h]);
    score = static_cast<Number>(problem.scale) * product;
  }
};

/// Σ exp(score − largest) over some keys, and over those of them that are seen.
template <typename Number>
struct Sum {
  Number largest = -static_cast<Number>(INFINITY);
  Number all = 0, seen = 0;

  __device__ void rise_to(Number score) {
    const Number factor = largest == -static_cast<Number>(INFINITY) ? 0 : exp(largest - score);
    all *= factor;
    seen *= factor;
    largest = score;
  }
  __device__ void add(Number score, bool is_seen) {
    if (score > largest) rise_to(score);
    const Number e = score == -static_cast<Number>(INFINITY) ? 0 : exp(score - largest);
    all += e;
    if (is_seen) seen += e;
  }
};

template <typename Number>
struct Shared {
  Sum<Number> sums[kThreads];
  Number probabilities[kThreads];
};

template <typename Element, typename Number>
__global__ void __launch_bounds__(kThreads) plain_attention(const AttentionProblem problem) {
  Shared<Number>& shared = *shared_memory<Shared<Number>>();
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t rows = problem.B * problem.N * problem.T;
  for (std::int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    Query<Element> row{};
    row.t = i % problem.T;
    row.n = i / problem.T % problem.N;
    row.b = i / problem.T / problem.N;
    const std::int64_t S = rows_of(problem, problem.S, row.b);
    if (row.t >= rows_of(problem, problem.T, row.b)) continue;
    const std::int64_t k = row.n / (problem.N / problem.K);
    row.query = at<Element>(problem, problem.query, row.b, row.t, row.n);
    row.key = at<Element>(problem, problem.key, row.b, 0, k);
    row.value = at<Element>(problem, problem.value, row.b, 0, k);
    const std::int64_t keys = keys_of(problem, row.b);
    row.range = keys_seen<std::int64_t>(problem, keys, row.t, 1);

    Sum<Number> sum;
    for (std::int64_t s = thread; s < S; s += kThreads) {
      const Score<Element, Number> one(problem, row, s);
      sum.add(one.score, one.seen);
    }
    shared.sums[thread] = sum;
    for (int half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (thread >= half) continue;
      Sum<Number> other = shared.sums[thread + half];
      if (other.largest > sum.largest) {
        sum.rise_to(other.largest);
      } else {
        other.rise_to(sum.largest);
      }
      sum.all += other.all;
      sum.seen += other.seen;
      shared.sums[thread] = sum;
    }
    __syncthreads();
    sum = shared.sums[0];
    if (problem.log_sum_exp != nullptr && thread == 0) {
      problem.log_sum_exp[i] = static_cast<float>(sum.largest + log(sum.seen));
    }

    // Padding is not multiplied by its weight 0, which NaN would turn to NaN; but it counts where all keys count alike.
    const std::int64_t values = problem.path == AttentionPath::fused && sum.seen == 0 ? S : keys;
    Element* const scores = reinterpret_cast<Element*>(problem.scores) + i * S;
    Element* const context = const_cast<Element*>(at<Element>(problem, problem.context, row.b, row.t, row.n));
    for (std::int64_t first = 0; first == 0 || first < problem.V; first += kThreads * kColumns) {
      Number columns[kColumns] = {};
      for (std::int64_t start = 0; start < S; start += kThreads) {
        if (start + thread < S) {
          const Score<Element, Number> one(problem, row, start + thread);
          const bool zero = problem.path == AttentionPath::explicit_ && !one.seen;
          const Number probability = zero ? 0 : exp(one.score - sum.largest) / sum.all;
          if (problem.scores != nullptr && first == 0) scores[start + thread] = element_of<Element>(probability);
          shared.probabilities[thread] = probability;
        }
        __syncthreads();
        const int count = static_cast<int>(smaller(kThreads, values - start));
        for (int j = 0; j < count; ++j) {
          const Element* const value = row.value + (start + j) * problem.value.row_stride;
#pragma unroll
          for (int c = 0; c < kColumns; ++c) {
            const std::int64_t v = first + c * kThreads + thread;
            if (v < problem.V) columns[c] += shared.probabilities[j] * number_of(value[v]);
          }
        }
        __syncthreads();
      }
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const std::int64_t v = first + c * kThreads + thread;
        if (v < problem.V) context[v] = element_of<Element>(columns[c]);
      }
    }
    __syncthreads();
  }
}

template <typename Element, typename Number>
Launch prepare(const AttentionProblem& problem) {
  constexpr std::int64_t kMostBlocks = 1 << 30;
  const std::int64_t rows = problem.B * problem.N * problem.T;
  LaunchShape shape;
  shape.grid.x = static_cast<unsigned>(std::min(rows, kMostBlocks));
  shape.block.x = kThreads;
  shape.shared_bytes = sizeof(Shared<Number>);
  return [problem, shape](cudaStream_t stream) {
    check(launch(plain_attention<Element, Number>, shape, stream, problem), "launching attention");
  };
}

}  // namespace

std::string why_not_plain(const AttentionProblem&, const Device&) { return ""; }

Launch prepare_plain(const AttentionProblem& problem, const Device&) {
  const AttentionProblem mine = with_plain_window(problem);
  switch (problem.dtype) {
    case DType::float64:
      return prepare<double, double>(mine);
    case DType::float16:
      return prepare<__half, float>(mine);
    case DType::bfloat16:
      return prepare<__nv_bfloat16, float>(mine);
    default:
      return prepare<float, float>(mine);
  }
}

}  // namespace attn::cuda
