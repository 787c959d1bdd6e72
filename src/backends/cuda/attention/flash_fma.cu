// One-pass attention in float32 without tensor cores. A block computes a tile of queries of one head. It iterates over
// tiles of keys and values in shared memory; scores and results stay in registers.
//
// The threads form a grid of rows with 16 threads each, which share the queries of their row. Thread (r, c) has queries
// r, r + 16, …, keys c, c + 16, …, and columns 4c to 4c + 3 of every 64 columns of the values.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels.h"
#include "ptx.h"
#include "visible.h"

namespace attn::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kLanes = 16;  // threads that share a query; also the stride between a thread's queries
constexpr int kVector = 4;  // floats in 16 bytes

struct FlashFma {
  AttentionProblem problem;
  Tiling tiling;
  float scale = 1.0F;           // factor of the scores, times log2(e)
  int head_vectors = 0;         // 16-byte vectors in a query or key row, padded with zeros
  bool copies_vectors[3] = {};  // for query, key, value: whether rows are aligned to, and made of, whole vectors
  bool stores_vectors = false;  // the same for the context
};

/// Template parameters. Rows: queries per thread. Keys: keys per tile. Columns: value vectors per thread.
constexpr int keys_of_tile(int columns) { return columns == 1 ? 64 : 32; }
/// Rows of queries and keys have an odd number of vectors, so that the rows of 8 threads fall into different banks.
constexpr int head_stride(int head_vectors) { return (head_vectors | 1) * kVector; }
constexpr int weight_stride(int columns) { return keys_of_tile(columns) + kVector; }
constexpr std::int64_t shared_floats(int rows, int columns, int head_vectors) {
  const int queries = rows * kLanes, keys = keys_of_tile(columns);
  return std::int64_t{queries + keys} * head_stride(head_vectors) + keys * columns * 64 +
         queries * weight_stride(columns);
}

template <int Rows, int Columns>
class Kernel {
  static constexpr int kQueries = Rows * kLanes;
  static constexpr int kKeys = keys_of_tile(Columns);
  static constexpr int kKeysOfThread = kKeys / kLanes;
  static constexpr int kValueStride = Columns * 64;

 public:
  __device__ __forceinline__ explicit Kernel(const FlashFma& given)
      : given_(given),
        problem_(given.problem),
        lane_(static_cast<int>(threadIdx.x) % kLanes),
        thread_row_(static_cast<int>(threadIdx.x) / kLanes),
        stride_(head_stride(given.head_vectors)) {
    // With this the compiler neither loads nor spills the fields that depend on `length`.
    if (problem_.length != nullptr) __builtin_unreachable();
    query_ = shared_memory<float>();
    key_ = query_ + kQueries * stride_;
    value_ = key_ + kKeys * stride_;
    weights_ = value_ + kKeys * kValueStride;
    const TilePlace place = place_of(given.tiling, blockIdx.x);
    const int N = static_cast<int>(problem_.N);
    b_ = place.head / N;
    n_ = place.head % N;
    k_ = n_ / (N / static_cast<int>(problem_.K));
    first_row_ = place.tile * kQueries;
    keys_ = static_cast<int>(keys_of(problem_, b_));
  }

  __device__ __forceinline__ void run() {
    const int T = queries();
    if (first_row_ >= T) return;  // this tile is beyond the end of the sequence
    const int rows = T - first_row_ < kQueries ? T - first_row_ : kQueries;
    const KeyRange<int> range = keys_seen(problem_, keys_, first_row_, rows);
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      top_[i] = -INFINITY;
      sum_[i] = 0.0F;
#pragma unroll
      for (int j = 0; j < Columns * kVector; ++j) context_[i][j] = 0.0F;
    }
    load_rows(query_, problem_.query, kQueries, first_row_, T, n_, static_cast<int>(problem_.H), given_.head_vectors,
              stride_, given_.copies_vectors[0]);
    Sweep what = Sweep::attention;
    int first = range.first / kKeys;
    int end = range.last > range.first ? (range.last + kKeys - 1) / kKeys : first;
    for (;;) {  // a loop, so that the code of a sweep is compiled only once
      sweep(what, first, end);
      if (what == Sweep::attention) finish_sums();
      if (what == Sweep::uniform) count_uniform();
      // Rows that see a key are stored first, because the mean of all values overwrites their context.
      if (what != Sweep::scores) store(what == Sweep::uniform);
      const bool fused = problem_.path == graph::AttentionPath::fused;
      if (what == Sweep::attention && fused && __syncthreads_or(any_hidden_row())) {
        what = Sweep::uniform;
      } else if (what != Sweep::scores && problem_.scores != nullptr) {
        what = Sweep::scores;
      } else {
        break;
      }
      first = 0;
      end = (keys() + kKeys - 1) / kKeys;
    }
  }

 private:
  /// Returns T and S of this batch entry or sequence. They are read again each time, which saves registers.
  __device__ __forceinline__ int queries() const { return static_cast<int>(queries_of(problem_, b_)); }
  __device__ __forceinline__ int keys() const { return static_cast<int>(keys_there(problem_, b_)); }

  /// The kinds of work on the tiles of keys and values. Attention computes the softmax and the product with the values.
  /// Uniform computes the mean of all values, for queries that see no key. Scores computes the probabilities, once the
  /// sums are known.
  enum class Sweep { attention, uniform, scores };

  __device__ __forceinline__ void load_rows(float* to, const HeadsView& view, int count, int first, int end, int head,
                                            int columns, int vectors, int stride, bool whole) {
    const float* const from = reinterpret_cast<const float*>(view.data) + begin_of(problem_, view, b_) +
                              first * view.row_stride + head * view.head_stride;
    for (int row = ptx::here(thread_row_); row < count; row += kThreads / kLanes) {
      const int inside = first + row < end ? columns : 0;
      const float* const source = from + row * view.row_stride;
      const std::uint32_t target = ptx::shared_address(to + row * stride);
#pragma unroll 1
      for (int vector = lane_; vector < vectors; vector += kLanes) {
        const int column = vector * kVector;
        if (whole) {
          ptx::copy_async<16>(target + column * 4, column < inside ? source + column : from, column < inside);
        } else {
#pragma unroll
          for (int i = 0; i < kVector; ++i) {
            const bool is_inside = column + i < inside;
            ptx::copy_async<4>(target + (column + i) * 4, is_inside ? source + column + i : from, is_inside);
          }
        }
      }
    }
  }

  __device__ __forceinline__ void load_keys(int tile) {
    load_rows(key_, problem_.key, kKeys, tile * kKeys, keys_, k_, static_cast<int>(problem_.H), given_.head_vectors,
              stride_, given_.copies_vectors[1]);
  }
  /// Loads zeros for values of padding, because weight 0 times NaN would be NaN. A mean of all values includes padding.
  __device__ __forceinline__ void load_values(Sweep what, int tile) {
    const int end = what == Sweep::uniform ? keys() : keys_;
    load_rows(value_, problem_.value, kKeys, tile * kKeys, end, k_, static_cast<int>(problem_.V),
              kValueStride / kVector, kValueStride, given_.copies_vectors[2]);
  }

  /// Iterates over tiles. The values of a tile are copied while its scores are computed, and the next keys while the
  /// values are used.
  __device__ __forceinline__ void sweep(Sweep what, int first, int end) {
    for (int tile = first - 1; tile < end; ++tile) {
      if (tile >= first) {
        ptx::commit_copies();
        ptx::wait_copies<0>();
        __syncthreads();  // the keys have arrived, and the previous values are no longer in use
        if (what != Sweep::scores) load_values(what, tile);
        ptx::commit_copies();
        float scores[Rows][kKeysOfThread];
        if (what == Sweep::uniform) {
          fill_uniform(scores, tile * kKeys);
        } else {
          multiply_keys(scores);
          hide(scores, tile * kKeys);
          if (what == Sweep::attention) {
            update_softmax(scores);
          } else {
            store_scores(scores, tile * kKeys);
          }
        }
        keep(scores);
      }
      ptx::wait_copies<0>();
      __syncthreads();  // the values and weights have arrived, and the previous keys are no longer in use
      if (what != Sweep::uniform && tile + 1 < end) load_keys(tile + 1);
      if (tile >= first && what != Sweep::scores) multiply_values();
    }
    ptx::wait_copies<0>();
    __syncthreads();
  }

  __device__ __forceinline__ static float4 vector_at(const float* address) {
    return *reinterpret_cast<const float4*>(address);
  }

  __device__ __forceinline__ void multiply_keys(float (&scores)[Rows][kKeysOfThread]) {
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
#pragma unroll
      for (int j = 0; j < kKeysOfThread; ++j) scores[i][j] = 0.0F;
    }
    const float* const query = query_ + thread_row_ * stride_;
    const float* const key = key_ + lane_ * stride_;
    for (int h = 0; h < given_.head_vectors * kVector; h += kVector) {
      float4 keys[kKeysOfThread];
#pragma unroll
      for (int j = 0; j < kKeysOfThread; ++j) keys[j] = vector_at(key + j * kLanes * stride_ + h);
#pragma unroll
      for (int i = 0; i < Rows; ++i) {
        const float4 q = vector_at(query + i * kLanes * stride_ + h);
#pragma unroll
        for (int j = 0; j < kKeysOfThread; ++j) {
          float& sum = scores[i][j];
          sum += q.x * keys[j].x;
          sum += q.y * keys[j].y;
          sum += q.z * keys[j].z;
          sum += q.w * keys[j].w;
        }
      }
    }
  }

  __device__ __forceinline__ void multiply_values() {
    const float* const weights = weights_ + thread_row_ * weight_stride(Columns);
    const float* const value = value_ + lane_ * kVector;
#pragma unroll 2
    for (int s = 0; s < kKeys; s += kVector) {
      float weight[Rows][kVector];
#pragma unroll
      for (int i = 0; i < Rows; ++i) {
        const float4 four = vector_at(weights + i * kLanes * weight_stride(Columns) + s);
        weight[i][0] = four.x, weight[i][1] = four.y, weight[i][2] = four.z, weight[i][3] = four.w;
      }
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
#pragma unroll
        for (int c = 0; c < Columns; ++c) {
          const float4 v = vector_at(value + (s + k) * kValueStride + c * 64);
#pragma unroll
          for (int i = 0; i < Rows; ++i) {
            float* const to = context_[i] + c * kVector;
            to[0] += weight[i][k] * v.x;
            to[1] += weight[i][k] * v.y;
            to[2] += weight[i][k] * v.z;
            to[3] += weight[i][k] * v.w;
          }
        }
      }
    }
  }

  __device__ __forceinline__ int row_of(int i) const { return first_row_ + i * kLanes + thread_row_; }
  __device__ __forceinline__ int column_of(int j) const { return j * kLanes + lane_; }

  /// Sets the scores of hidden keys to −∞.
  __device__ __forceinline__ void hide(float (&scores)[Rows][kKeysOfThread], int first_key) {
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      const int row = ptx::here(row_of(i));
      const KeyRange<int> range = keys_seen(problem_, keys_, row, 1);
#pragma unroll
      for (int j = 0; j < kKeysOfThread; ++j) {
        const int key = first_key + column_of(j);
        const bool inside = key >= range.first && key < range.last;
        if (!inside || (row < problem_.T && !masks_allow(problem_, b_, n_, row, key))) scores[i][j] = -INFINITY;
      }
    }
  }

  /// Returns the maximum over a row whose elements are spread over 16 threads; sum_of_row returns the sum.
  __device__ __forceinline__ static float largest_of_row(float x) {
#pragma unroll
    for (int step = 1; step < kLanes; step *= 2) x = fmaxf(x, __shfl_xor_sync(~0U, x, step));
    return x;
  }
  __device__ __forceinline__ static float sum_of_row(float x) {
#pragma unroll
    for (int step = 1; step < kLanes; step *= 2) x += __shfl_xor_sync(~0U, x, step);
    return x;
  }

  /// Replaces scores by 2^(scale·score − top), where top is the row's running maximum, and rescales the sums and the
  /// context to it.
  __device__ __forceinline__ void update_softmax(float (&scores)[Rows][kKeysOfThread]) {
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      float largest = scores[i][0];
#pragma unroll
      for (int j = 0; j < kKeysOfThread; ++j) largest = fmaxf(largest, scores[i][j]);
      const float top = fmaxf(top_[i], largest_of_row(largest) * given_.scale);
      const float base = top == -INFINITY ? 0.0F : top;
      const float factor = ptx::exp2(top_[i] - base);
      float sum = 0.0F;
#pragma unroll
      for (int j = 0; j < kKeysOfThread; ++j) {
        scores[i][j] = ptx::exp2(fmaf(scores[i][j], given_.scale, -base));
        sum += scores[i][j];
      }
      sum_[i] = sum_[i] * factor + sum;
      top_[i] = top;
#pragma unroll
      for (int j = 0; j < Columns * kVector; ++j) context_[i][j] *= factor;
    }
  }

  /// Sets weight 1 for every key, for the rows that see no key.
  __device__ __forceinline__ void fill_uniform(float (&weights)[Rows][kKeysOfThread], int first_key) {
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
#pragma unroll
      for (int j = 0; j < kKeysOfThread; ++j) {
        weights[i][j] = hidden_[i] && first_key + column_of(j) < keys() ? 1.0F : 0.0F;
      }
    }
  }

  /// Stores the weights in shared memory for the other threads of their rows.
  __device__ __forceinline__ void keep(const float (&weights)[Rows][kKeysOfThread]) {
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
#pragma unroll
      for (int j = 0; j < kKeysOfThread; ++j) {
        weights_[(i * kLanes + thread_row_) * weight_stride(Columns) + column_of(j)] = weights[i][j];
      }
    }
  }

  __device__ __forceinline__ void finish_sums() {
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      sum_[i] = sum_of_row(sum_[i]);
      hidden_[i] = sum_[i] == 0.0F && row_of(i) < queries();
    }
  }

  __device__ __forceinline__ bool any_hidden_row() const {
    bool any = false;
#pragma unroll
    for (int i = 0; i < Rows; ++i) any = any || hidden_[i];
    return any;
  }

  __device__ __forceinline__ void count_uniform() {
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      if (hidden_[i]) sum_[i] = static_cast<float>(keys());
    }
  }

  __device__ __forceinline__ static float inverse(float sum) { return sum == 0.0F ? 0.0F : 1.0F / sum; }

  __device__ __forceinline__ void store_scores(const float (&scores)[Rows][kKeysOfThread], int first_key) {
    const bool is_fused = problem_.path == graph::AttentionPath::fused;
    const float hidden = is_fused ? 1.0F : 0.0F;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      const int row = ptx::here(row_of(i));
      if (row >= queries()) continue;
      float* const to =
          reinterpret_cast<float*>(problem_.scores) + ((b_ * problem_.N + n_) * problem_.T + row) * problem_.S;
      const float factor = inverse(sum_[i]);
#pragma unroll
      for (int j = 0; j < kKeysOfThread; ++j) {
        const int key = first_key + column_of(j);
        const float weight = ptx::exp2(fmaf(scores[i][j], given_.scale, -top_[i]));
        // A hidden key has the weight 0 even if the row's other scores are NaN.
        const bool none = !is_fused && scores[i][j] == -INFINITY;
        if (key < keys()) to[key] = none ? 0.0F : (hidden_[i] ? hidden : weight) * factor;
      }
    }
  }

  /// Stores all rows, or only those that see no key.
  __device__ __forceinline__ void store(bool hidden_alone) {
    const HeadsView& view = problem_.context;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      const int row = row_of(i);
      if (row >= queries() || (hidden_alone && !hidden_[i])) continue;
      if (problem_.log_sum_exp != nullptr && lane_ == 0) {
        problem_.log_sum_exp[(b_ * problem_.N + n_) * problem_.T + row] =
            hidden_[i] ? -INFINITY : natural_log_sum(top_[i], sum_[i]);
      }
      const float factor = inverse(sum_[i]);
      float* const to = reinterpret_cast<float*>(view.data) + begin_of(problem_, view, b_) + row * view.row_stride +
                        n_ * view.head_stride;
#pragma unroll
      for (int c = 0; c < Columns; ++c) {
        const int column = c * 64 + lane_ * kVector;
        float four[kVector];
#pragma unroll
        for (int e = 0; e < kVector; ++e) four[e] = context_[i][c * kVector + e] * factor;
        if (given_.stores_vectors) {
          if (column < problem_.V)
            *reinterpret_cast<float4*>(to + column) = make_float4(four[0], four[1], four[2], four[3]);
        } else {
#pragma unroll
          for (int e = 0; e < kVector; ++e) {
            if (column + e < problem_.V) to[column + e] = four[e];
          }
        }
      }
    }
  }

  const FlashFma& given_;
  const AttentionProblem& problem_;
  float *query_, *key_, *value_, *weights_;
  const int lane_, thread_row_;
  const int stride_;  // row stride of queries and keys in floats
  int b_ = 0, n_ = 0, k_ = 0;
  int first_row_ = 0;  // first row of the tile's queries
  int keys_ = 0;       // keys that are not padding
  float top_[Rows], sum_[Rows];
  bool hidden_[Rows];
  float context_[Rows][Columns * kVector];
};

template <int Rows, int Columns>
__global__ void __launch_bounds__(kThreads, 1) flash_fma(const __grid_constant__ FlashFma given) {
  let_next_kernel_start();
  wait_for_previous_kernel();
  Kernel<Rows, Columns>(given).run();
}

int columns_for(const AttentionProblem& problem) {
  const std::int64_t size = std::max(problem.H, problem.V);
  return size <= 64 ? 1 : size <= 128 ? 2 : 4;
}

std::int64_t shared_bytes(const AttentionProblem& problem, int rows) {
  const int vectors = static_cast<int>((problem.H + kVector - 1) / kVector);
  return shared_floats(rows, columns_for(problem), vectors) * std::int64_t{sizeof(float)};
}

template <int Rows, int Columns>
Launch launch_of(const FlashFma& given) {
  LaunchShape shape;
  shape.grid.x = given.tiling.blocks();
  shape.block.x = kThreads;
  shape.shared_bytes = static_cast<std::size_t>(shared_bytes(given.problem, Rows));
  return [given = FlashFma(given), shape](cudaStream_t stream) {
    check(launch(flash_fma<Rows, Columns>, shape, stream, given), "launching attention");
  };
}

template <int Rows>
Launch launch_of(const FlashFma& given, int columns) {
  if (columns == 1) return launch_of<Rows, 1>(given);
  return columns == 2 ? launch_of<Rows, 2>(given) : launch_of<Rows, 4>(given);
}

constexpr int kFewRows = 1, kManyRows = 4;

}  // namespace

std::string why_not_flash_fma(const AttentionProblem& problem, const Device& device) {
  if (problem.dtype != DType::float32) return "not in float32";
  if (device.architecture() < 80) return "needs sm_80 or later";
  if (problem.length != nullptr) return "the number of keys is known only on the GPU";
  if (std::max(problem.H, problem.V) > 256) return "a head size is above 256";
  if (const std::string reason = why_not_tiled(problem); !reason.empty()) return reason;
  if (shared_bytes(problem, kFewRows) > device.shared_bytes()) return "too little shared memory";
  return "";
}

Launch prepare_flash_fma(const AttentionProblem& problem, const Device& device) {
  FlashFma given;
  given.problem = with_plain_window(problem);
  given.scale = static_cast<float>(problem.scale * std::numbers::log2e);
  given.head_vectors = static_cast<int>((problem.H + kVector - 1) / kVector);
  given.copies_vectors[0] = has_vectors(problem, problem.query, problem.H);
  given.copies_vectors[1] = has_vectors(problem, problem.key, problem.H);
  given.copies_vectors[2] = has_vectors(problem, problem.value, problem.V);
  given.stores_vectors = has_vectors(problem, problem.context, problem.V);

  // Selects the tile size: with few queries a large tile is mostly empty, and with few tiles most processors idle.
  const Tiling large = tile_queries(problem, kManyRows * kLanes, device);
  const bool many = problem.T > kFewRows * kLanes && large.blocks() >= static_cast<unsigned>(device.processors()) / 2 &&
                    shared_bytes(problem, kManyRows) <= device.shared_bytes();
  given.tiling = many ? large : tile_queries(problem, kFewRows * kLanes, device);
  const int columns = columns_for(problem);
  return many ? launch_of<kManyRows>(given, columns) : launch_of<kFewRows>(given, columns);
}

}  // namespace attn::cuda
