// Straightforward attention. A block computes one query. It scans the keys for the maximum score and the sum of the
// exponentials, and scans them again for the probabilities and the weighted mean of the values. It supports any dtype,
// size and mask.
//
// float64 is computed in double, everything else in float.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "kernels.h"
#include "kernels/number.h"
#include "visible.h"

namespace attn::cuda {
namespace {

using graph::AttentionPath;

constexpr int kThreads = 128;  // threads per block; each computes a key, then a column of the values
constexpr int kColumns = 4;    // value columns per thread at a time

/// Returns the value of a hidden score (Keras: ops.dot_product_attention, layers.Softmax).
__device__ inline float hidden_score(const AttentionProblem& problem) {
  if (problem.path == AttentionPath::fused) return -0.7F * FLT_MAX;
  return problem.dtype == DType::float16 ? -3e4F : -1e9F;
}

/// One query of one head.
struct Query {
  std::int64_t b, n, t;
  std::int64_t k;  // the head of keys and values
  KeyRange<std::int64_t> range;
};

/// Returns the index of the row's first element. A sequence's row is relative to its start; a cache's row may be in any
/// entry.
__device__ std::int64_t row_at(const AttentionProblem& problem, const HeadsView& view, std::int64_t b, std::int64_t row,
                               std::int64_t head) {
  return begin_of(problem, view, b) + row * view.row_stride + head * view.head_stride;
}

/// Returns one score, hidden or not.
template <typename Number>
struct Score {
  Number score;
  bool seen;

  __device__ Score(const AttentionProblem& problem, const Query& row, std::int64_t s) {
    seen = s >= row.range.first && s < row.range.last && masks_allow(problem, row.b, row.n, row.t, s);
    if (!seen) {
      score = hidden_score(problem);
      return;
    }
    const Array queries{problem.query.data, problem.dtype}, keys{problem.key.data, problem.key_dtype};
    const std::int64_t query = row_at(problem, problem.query, row.b, row.t, row.n);
    const std::int64_t key = row_at(problem, problem.key, entry_of(problem, row.b, s), s, row.k);
    Number product = 0;
    for (std::int64_t h = 0; h < problem.H; ++h)
      product += load<Number>(queries, query + h) * load<Number>(keys, key + h);
    score = static_cast<Number>(problem.scale) * product;
    if (problem.soft_cap > 0.0) {
      const auto cap = static_cast<Number>(problem.soft_cap);
      score = cap * tanh(score / cap);
    }
    if (problem.bias.data != nullptr) {
      const Array bias{problem.bias.data, problem.dtype};
      score += load<Number>(bias, problem.bias.offset(row.b, row.n, row.t, s));
    }
  }
};

/// The sum of exp(score − largest) over some keys, and the number of visible keys among them.
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

template <typename Number>
__global__ void __launch_bounds__(kThreads, 4) plain_attention(const AttentionProblem problem) {
  let_next_kernel_start();
  wait_for_previous_kernel();
  check_length(problem);
  Shared<Number>& shared = *shared_memory<Shared<Number>>();
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t rows = problem.B * problem.N * problem.T;
  for (std::int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    Query row{};
    row.t = i % problem.T;
    row.n = i / problem.T % problem.N;
    row.b = i / problem.T / problem.N;
    row.k = row.n / (problem.N / problem.K);
    if (row.t >= queries_of(problem, row.b)) continue;
    const std::int64_t S = keys_there(problem, row.b), keys = keys_of(problem, row.b);
    row.range = keys_seen<std::int64_t>(problem, keys, row.t, 1);

    Sum<Number> sum;
    for (std::int64_t s = thread; s < S; s += kThreads) {
      const Score<Number> one(problem, row, s);
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

    // Values of padding are skipped, because weight 0 times NaN would be NaN. They are included if all keys count
    // equally.
    const std::int64_t values = problem.path == AttentionPath::fused && sum.seen == 0 ? S : keys;
    const Array scores{problem.scores, problem.dtype}, context{problem.context.data, problem.dtype};
    const Array value{problem.value.data, problem.key_dtype};
    const std::int64_t to = row_at(problem, problem.context, row.b, row.t, row.n);
    for (std::int64_t first = 0; first == 0 || first < problem.V; first += kThreads * kColumns) {
      Number columns[kColumns] = {};
      for (std::int64_t start = 0; start < S; start += kThreads) {
        if (start + thread < S) {
          const Score<Number> one(problem, row, start + thread);
          const bool zero = problem.path == AttentionPath::explicit_ && !one.seen;
          const Number probability = zero ? 0 : exp(one.score - sum.largest) / sum.all;
          if (problem.scores != nullptr && first == 0) store(scores, i * problem.S + start + thread, probability);
          shared.probabilities[thread] = probability;
        }
        __syncthreads();
        const int count = static_cast<int>(smaller(kThreads, values - start));
        for (int j = 0; j < count; ++j) {
          const std::int64_t s = start + j;
          const std::int64_t from = row_at(problem, problem.value, entry_of(problem, row.b, s), s, row.k);
#pragma unroll
          for (int c = 0; c < kColumns; ++c) {
            const std::int64_t v = first + c * kThreads + thread;
            if (v < problem.V) columns[c] += shared.probabilities[j] * load<Number>(value, from + v);
          }
        }
        __syncthreads();
      }
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const std::int64_t v = first + c * kThreads + thread;
        if (v < problem.V) store(context, to + v, columns[c]);
      }
    }
    __syncthreads();
  }
}

template <typename Number>
Launch prepare(const AttentionProblem& problem) {
  constexpr std::int64_t kMostBlocks = 1 << 30;
  const std::int64_t rows = problem.B * problem.N * problem.T;
  LaunchShape shape;
  shape.grid.x = static_cast<unsigned>(std::min(rows, kMostBlocks));
  shape.block.x = kThreads;
  shape.shared_bytes = sizeof(Shared<Number>);
  return [problem, shape](cudaStream_t stream) {
    check(launch(plain_attention<Number>, shape, stream, problem), "launching attention");
  };
}

}  // namespace

std::string why_not_plain(const AttentionProblem&, const Device&) { return ""; }

Launch prepare_plain(const AttentionProblem& problem, const Device&) {
  const AttentionProblem mine = with_plain_window(problem);
  const bool wide = problem.dtype == DType::float64 || problem.key_dtype == DType::float64;
  return wide ? prepare<double>(mine) : prepare<float>(mine);
}

}  // namespace attn::cuda
