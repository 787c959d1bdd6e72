// One-pass attention on the tensor cores of sm_80 and later (FlashAttention-2, arXiv:2307.08691). A block computes a
// tile of queries of one head and iterates over tiles of keys and values in shared memory. The next tile is copied
// while the current one is computed. Scores stay in registers, with an online softmax.
//
// A warp computes 16 or 32 queries. In its fragments (ptx.h), g = lane / 4 indexes a row and t = lane % 4 two columns.
#pragma once

#include <cmath>
#include <cstdint>

#include "flash_mma.h"
#include "ptx.h"
#include "visible.h"

namespace attn::cuda {

/// D: the padded head size; Tiles: the tiles of 16 queries per warp.
template <typename Half, int D, int Tiles>
class FlashMmaKernel {
 public:
  static constexpr int kThreads = kFlashMmaWarps * 32;
  static constexpr int kQueries = flash_mma_queries(Tiles);
  static constexpr int kKeys = flash_mma_keys(D, Tiles);
  static constexpr int kStages = 2;
  static constexpr int kBytes = 2;  // bytes per element
  static constexpr int kStride = flash_mma_stride(D);

  struct Shared {
    alignas(16) Half query[kQueries * kStride];
    alignas(16) Half key[kStages][kKeys * kStride];
    alignas(16) Half value[kStages][kKeys * kStride];
  };
  // The result is staged in the shared memory of keys and values.
  static_assert(sizeof(Shared::key) + sizeof(Shared::value) >= sizeof(Shared::query));
  static_assert(sizeof(Shared) == flash_mma_shared_bytes(D, Tiles));

  __device__ __forceinline__ explicit FlashMmaKernel(const FlashMma& given)
      : given_(given),
        problem_(given.problem),
        shared_(*shared_memory<Shared>()),
        thread_(static_cast<int>(threadIdx.x)),
        lane_(thread_ % 32),
        warp_row_(thread_ / 32 * 16 * Tiles) {
    const TilePlace place = place_of(given.tiling, blockIdx.x);
    const int N = static_cast<int>(problem_.N);
    b_ = place.head / N;
    n_ = place.head % N;
    k_ = n_ / (N / static_cast<int>(problem_.K));
    first_row_ = place.tile * kQueries;
    S_ = static_cast<int>(keys_there(problem_, b_));
    keys_ = static_cast<int>(keys_of(problem_, b_));
  }

  __device__ __forceinline__ void run() {
    check_length(problem_);
    const int T = queries();
    if (first_row_ >= T) return;  // this tile is beyond the end of the sequence
    const int rows = T - first_row_ < kQueries ? T - first_row_ : kQueries;
    const KeyRange<int> range = keys_seen(problem_, keys_, first_row_, rows);
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) top_[i][r] = -INFINITY, sum_[i][r] = 0.0F;
#pragma unroll
      for (int j = 0; j < D / 8; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) context_[i][j][e] = 0.0F;
      }
    }
    load_rows<kQueries>(shared_.query, problem_.query, first_row_, T, n_, static_cast<int>(problem_.H),
                        given_.copies_vectors[0]);
    ptx::commit_copies();
    Sweep what = Sweep::attention;
    int first = range.first / kKeys;
    int end = range.last > range.first ? (range.last + kKeys - 1) / kKeys : first;
    for (;;) {  // a loop, so that the code of a sweep is compiled only once
      sweep(what, first, end);
      if (what == Sweep::attention) finish_sums();
      if (what == Sweep::uniform) count_uniform();
      const bool fused = problem_.path == graph::AttentionPath::fused;
      if (what == Sweep::attention && fused && __syncthreads_or(any_hidden_row())) {
        what = Sweep::uniform;
      } else if (what != Sweep::scores && problem_.scores != nullptr) {
        what = Sweep::scores;
      } else {
        break;
      }
      first = 0;
      end = (S_ + kKeys - 1) / kKeys;
    }
    store_log_sums();
    store_context();
  }

 private:
  /// Returns T of this batch entry or sequence. It is read again each time, which saves a register.
  __device__ __forceinline__ int queries() const { return static_cast<int>(queries_of(problem_, b_)); }

  /// The kinds of work on the tiles of keys and values. Attention computes the softmax and the product with the values.
  /// Uniform computes the mean of all values, for queries that see no key. Scores computes the probabilities, once the
  /// sums are known.
  enum class Sweep { attention, uniform, scores };

  template <int Rows>
  __device__ __forceinline__ void load_rows(Half* to, const HeadsView& view, int first, int end, std::int64_t head,
                                            int columns, bool vectors) {
    const Half* const from = reinterpret_cast<const Half*>(view.data) + begin_of(problem_, view, b_) +
                             first * view.row_stride + head * view.head_stride;
    constexpr int kVectors = D / 8;
#pragma unroll 2
    for (int at = ptx::here(thread_); at < Rows * kVectors; at += kThreads) {
      const int row = at / kVectors, column = at % kVectors * 8;
      const Half* const source = from + row * view.row_stride + column;
      Half* const target = to + row * kStride + column;
      const int inside = first + row < end ? columns - column : 0;
      if (vectors) {
        ptx::copy_async<16>(ptx::shared_address(target), inside > 0 ? source : from, inside > 0);
      } else {
#pragma unroll 1
        for (int i = 0; i < 8; ++i) target[i] = i < inside ? source[i] : Half(0.0F);
      }
    }
  }

  __device__ __forceinline__ void load_tile(Sweep what, int tile) {
    if (what != Sweep::uniform) {
      load_rows<kKeys>(shared_.key[tile % kStages], problem_.key, tile * kKeys, S_, k_, static_cast<int>(problem_.H),
                       given_.copies_vectors[1]);
    }
    if (what != Sweep::scores) {
      load_rows<kKeys>(shared_.value[tile % kStages], problem_.value, tile * kKeys, what == Sweep::uniform ? S_ : keys_,
                       k_, static_cast<int>(problem_.V), given_.copies_vectors[2]);
    }
    ptx::commit_copies();
  }

  __device__ __forceinline__ void sweep(Sweep what, int first, int end) {
    for (int tile = first - 1; tile < end; ++tile) {
      ptx::wait_copies<0>();
      __syncthreads();  // the tile has arrived, and the previous one is no longer in use
      if (tile + 1 < end) load_tile(what, tile + 1);
      if (tile < first) continue;
      float scores[Tiles][kKeys / 8][4];
      if (what != Sweep::uniform) {
        multiply_keys(scores, shared_.key[tile % kStages]);
        hide(scores, tile * kKeys);
      }
      if (what == Sweep::attention) {
        update_softmax(scores);
      } else if (what == Sweep::uniform) {
        fill_uniform(scores, tile * kKeys);
      } else {
        store_scores(scores, tile * kKeys);
      }
      if (what != Sweep::scores) multiply_values(scores, shared_.value[tile % kStages]);
    }
    __syncthreads();
  }

  __device__ __forceinline__ void multiply_keys(float (&scores)[Tiles][kKeys / 8][4], const Half* key) {
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
#pragma unroll
      for (int j = 0; j < kKeys / 8; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) scores[i][j][e] = 0.0F;
      }
    }
    const std::uint32_t query_row =
        ptx::shared_address(shared_.query) + ((warp_row_ + lane_ % 16) * kStride + lane_ / 16 * 8) * kBytes;
    const std::uint32_t key_row =
        ptx::shared_address(key) + ((lane_ / 16 * 8 + lane_ % 8) * kStride + lane_ / 8 % 2 * 8) * kBytes;
#pragma unroll
    for (int h = 0; h < D; h += 16) {
      std::uint32_t query[Tiles][4];
#pragma unroll
      for (int i = 0; i < Tiles; ++i) ptx::load_matrices(query[i], query_row + (i * 16 * kStride + h) * kBytes);
#pragma unroll
      for (int j = 0; j < kKeys / 16; ++j) {
        std::uint32_t keys[4];
        ptx::load_matrices(keys, key_row + (j * 16 * kStride + h) * kBytes);
#pragma unroll
        for (int i = 0; i < Tiles; ++i) {
          ptx::multiply_add<Half>(scores[i][2 * j], query[i], keys[0], keys[1]);
          ptx::multiply_add<Half>(scores[i][2 * j + 1], query[i], keys[2], keys[3]);
        }
      }
    }
  }

  __device__ __forceinline__ void multiply_values(const float (&weights)[Tiles][kKeys / 8][4], const Half* value) {
    const std::uint32_t value_row = ptx::shared_address(value) + (lane_ % 16 * kStride + lane_ / 16 * 8) * kBytes;
#pragma unroll
    for (int s = 0; s < kKeys / 16; ++s) {
      std::uint32_t left[Tiles][4];
#pragma unroll
      for (int i = 0; i < Tiles; ++i) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const float(&pair)[4] = weights[i][2 * s + q / 2];
          left[i][q] = ptx::pack<Half>(pair[q % 2 * 2], pair[q % 2 * 2 + 1]);
        }
      }
#pragma unroll
      for (int j = 0; j < D / 16; ++j) {
        std::uint32_t values[4];
        ptx::load_matrices_transposed(values, value_row + (s * 16 * kStride + j * 16) * kBytes);
#pragma unroll
        for (int i = 0; i < Tiles; ++i) {
          ptx::multiply_add<Half>(context_[i][2 * j], left[i], values[0], values[1]);
          ptx::multiply_add<Half>(context_[i][2 * j + 1], left[i], values[2], values[3]);
        }
      }
    }
  }

  __device__ __forceinline__ int row_of(int i, int r) const {
    return first_row_ + warp_row_ + i * 16 + r * 8 + lane_ / 4;
  }
  __device__ __forceinline__ int column_of(int j, int e) const { return j * 8 + lane_ % 4 * 2 + e; }

  /// Sets the scores of hidden keys to −∞.
  __device__ __forceinline__ void hide(float (&scores)[Tiles][kKeys / 8][4], int first_key) {
    const int first_row = first_row_ + warp_row_, last_row = first_row + 16 * Tiles - 1;
    const KeyRange<int> seen_by_all = {keys_seen(problem_, keys_, last_row, 1).first,
                                       keys_seen(problem_, keys_, first_row, 1).last};
    if (first_key < seen_by_all.first || first_key + kKeys > seen_by_all.last) {
#pragma unroll
      for (int i = 0; i < Tiles; ++i) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const KeyRange<int> range = keys_seen(problem_, keys_, row_of(i, r), 1);
          const int first = range.first - first_key, last = range.last - first_key;
#pragma unroll
          for (int j = 0; j < kKeys / 8; ++j) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              const int column = column_of(j, e);
              if (column < first || column >= last) scores[i][j][2 * r + e] = -INFINITY;
            }
          }
        }
      }
    }
    for (int m = 0; m < problem_.masks; ++m) hide_by(problem_.mask[m], scores, first_key);
  }

  /// Sets the scores of keys that one mask hides to −∞. Each lane collects the bits of one row and passes them to the
  /// lanes that hold its scores.
  __device__ __forceinline__ void hide_by(const MaskView& mask, float (&scores)[Tiles][kKeys / 8][4], int first_key) {
    const int first_row = ptx::here(first_row_ + warp_row_);
    const bool* const cells = mask.data + b_ * mask.strides[0] + n_ * mask.strides[1] + first_row * mask.strides[2] +
                              (first_key + lane_) * mask.strides[3];
    const int inside = S_ - first_key;  // columns of the tile that are inside the array
    std::uint32_t bits[kKeys / 32];
    const int rows = static_cast<int>(smaller(mask.strides[2] == 0 ? 1 : 16 * Tiles, queries() - first_row));
    // Rows beyond the array see all keys, because a row that sees no key would cost another sweep.
#pragma unroll
    for (int w = 0; w < kKeys / 32; ++w) bits[w] = lane_ < rows ? 0 : ~0U;
#pragma unroll 4
    for (int row = 0; row < rows; ++row) {
#pragma unroll
      for (int w = 0; w < kKeys / 32; ++w) {
        const bool seen = w * 32 + lane_ < inside && cells[row * mask.strides[2] + w * 32 * mask.strides[3]];
        const std::uint32_t all = __ballot_sync(~0U, seen);
        if (lane_ == row || mask.strides[2] == 0) bits[w] = all;
      }
    }
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int w = 0; w < kKeys / 32; ++w) {
          const std::uint32_t mine = __shfl_sync(~0U, bits[w], i * 16 + r * 8 + lane_ / 4) >> lane_ % 4 * 2;
#pragma unroll
          for (int j = 0; j < 4; ++j) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              if ((mine >> (j * 8 + e) & 1) == 0) scores[i][w * 4 + j][2 * r + e] = -INFINITY;
            }
          }
        }
      }
    }
  }

  /// Returns the maximum over a row whose elements are spread over four lanes; sum_of_row returns the sum.
  static __device__ __forceinline__ float largest_of_row(float x) {
    x = fmaxf(x, __shfl_xor_sync(~0U, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0U, x, 2));
  }
  static __device__ __forceinline__ float sum_of_row(float x) {
    x += __shfl_xor_sync(~0U, x, 1);
    return x + __shfl_xor_sync(~0U, x, 2);
  }

  /// Replaces scores by 2^(scale·score − top), where top is the row's running maximum, and rescales the sums and the
  /// context to it.
  __device__ __forceinline__ void update_softmax(float (&scores)[Tiles][kKeys / 8][4]) {
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float largest = -INFINITY;
#pragma unroll
        for (int j = 0; j < kKeys / 8; ++j) {
          largest = fmaxf(largest, fmaxf(scores[i][j][2 * r], scores[i][j][2 * r + 1]));
        }
        const float top = fmaxf(top_[i][r], largest_of_row(largest) * given_.scale);
        const float base = top == -INFINITY ? 0.0F : top;
        const float factor = ptx::exp2(top_[i][r] - base);
        float sum = 0.0F;
#pragma unroll
        for (int j = 0; j < kKeys / 8; ++j) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& x = scores[i][j][2 * r + e];
            x = ptx::exp2(fmaf(x, given_.scale, -base));
            sum += x;
          }
        }
        sum_[i][r] = sum_[i][r] * factor + sum;
        top_[i][r] = top;
#pragma unroll
        for (int j = 0; j < D / 8; ++j) {
          context_[i][j][2 * r] *= factor;
          context_[i][j][2 * r + 1] *= factor;
        }
      }
    }
  }

  /// Sets weight 1 for every key, for the rows that see no key.
  __device__ __forceinline__ void fill_uniform(float (&weights)[Tiles][kKeys / 8][4], int first_key) {
    const int inside = S_ - first_key;
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int j = 0; j < kKeys / 8; ++j) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            weights[i][j][2 * r + e] = hidden_[i][r] && column_of(j, e) < inside ? 1.0F : 0.0F;
          }
        }
      }
    }
  }

  __device__ __forceinline__ void count_uniform() {
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        if (hidden_[i][r]) sum_[i][r] = static_cast<float>(S_);
      }
    }
  }

  __device__ __forceinline__ void finish_sums() {
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        sum_[i][r] = sum_of_row(sum_[i][r]);
        hidden_[i][r] = sum_[i][r] == 0.0F;
      }
    }
  }

  __device__ __forceinline__ void store_log_sums() {
    if (problem_.log_sum_exp == nullptr || lane_ % 4 != 0) return;
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = row_of(i, r);
        float* const to = problem_.log_sum_exp + (b_ * problem_.N + n_) * problem_.T + row;
        if (row < queries()) *to = hidden_[i][r] ? -INFINITY : natural_log_sum(top_[i][r], sum_[i][r]);
      }
    }
  }

  __device__ __forceinline__ bool any_hidden_row() const {
    bool any = false;
#pragma unroll
    for (int i = 0; i < Tiles; ++i) any = any || hidden_[i][0] || hidden_[i][1];
    return any;
  }

  static __device__ __forceinline__ float inverse(float sum) { return sum == 0.0F ? 0.0F : ptx::reciprocal(sum); }

  /// Stages the context in shared memory, to store whole vectors.
  __device__ __forceinline__ void store_context() {
    Half* const staged = shared_.key[0] + warp_row_ * kStride;
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float factor = inverse(sum_[i][r]);
#pragma unroll
        for (int j = 0; j < D / 8; ++j) {
          const std::uint32_t pair =
              ptx::pack<Half>(context_[i][j][2 * r] * factor, context_[i][j][2 * r + 1] * factor);
          Half* const to = staged + (i * 16 + r * 8 + lane_ / 4) * kStride + column_of(j, 0);
          memcpy(static_cast<void*>(to), &pair, sizeof(pair));
        }
      }
    }
    __syncwarp();
    const HeadsView& view = problem_.context;
    const int first = first_row_ + warp_row_;
    Half* const to = reinterpret_cast<Half*>(view.data) + begin_of(problem_, view, b_) + first * view.row_stride +
                     n_ * view.head_stride;
    if (given_.stores_vectors) {
      constexpr int kVectors = D / 8;
      for (int at = lane_; at < 16 * Tiles * kVectors; at += 32) {
        const int row = at / kVectors, column = at % kVectors * 8;
        if (first + row < queries() && column < problem_.V) {
          *reinterpret_cast<uint4*>(to + row * view.row_stride + column) =
              *reinterpret_cast<const uint4*>(staged + row * kStride + column);
        }
      }
    } else {
      for (int at = lane_; at < 16 * Tiles * D; at += 32) {
        const int row = at / D, column = at % D;
        if (first + row < queries() && column < problem_.V) {
          to[row * view.row_stride + column] = staged[row * kStride + column];
        }
      }
    }
  }

  __device__ __forceinline__ void store_scores(float (&scores)[Tiles][kKeys / 8][4], int first_key) {
    const int S = S_;
    const bool fused = problem_.path == graph::AttentionPath::fused;
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = ptx::here(row_of(i, r));
        if (row >= queries()) continue;
        Half* const to =
            reinterpret_cast<Half*>(problem_.scores) + ((b_ * problem_.N + n_) * problem_.T + row) * problem_.S;
        const float factor = inverse(sum_[i][r]);
#pragma unroll
        for (int j = 0; j < kKeys / 8; ++j) {
          float probabilities[2];
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const float weight = ptx::exp2(fmaf(scores[i][j][2 * r + e], given_.scale, -top_[i][r]));
            probabilities[e] = (hidden_[i][r] ? (fused ? 1.0F : 0.0F) : weight) * factor;
          }
          const int column = first_key + column_of(j, 0);
          if (S % 2 == 0) {
            const std::uint32_t pair = ptx::pack<Half>(probabilities[0], probabilities[1]);
            if (column < S) *reinterpret_cast<std::uint32_t*>(to + column) = pair;
          } else {
            if (column < S) to[column] = Half(probabilities[0]);
            if (column + 1 < S) to[column + 1] = Half(probabilities[1]);
          }
        }
      }
    }
  }

  const FlashMma& given_;
  const AttentionProblem& problem_;
  Shared& shared_;
  const int thread_, lane_;
  const int warp_row_;  // the warp's first query within the tile
  int b_ = 0, n_ = 0, k_ = 0;
  int S_ = 0;          // keys of this batch entry or sequence
  int first_row_ = 0;  // first row of the tile's queries
  int keys_ = 0;       // keys that are not padding
  float top_[Tiles][2], sum_[Tiles][2];
  bool hidden_[Tiles][2];
  float context_[Tiles][D / 8][4];
};

}  // namespace attn::cuda
