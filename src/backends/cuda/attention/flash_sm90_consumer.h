// The consumer warpgroups of the attention kernel with Hopper's instructions.
//
// ptxas serializes all wgmma of a kernel if a register of one is touched too early, and warns (C7510): check its output
// after every change. It also hoists a wait for wgmma above everything that does not depend on the wait. It does not do
// so across a basic block boundary, such as the loop that waits for a barrier.
#pragma once

#include <cmath>
#include <type_traits>

#include "flash_sm90_work.h"
#include "ptx.h"
#include "simt.h"
#include "wgmma.h"

namespace attn::cuda::sm90 {

/// Masked: whether there is a mask of keys or of queries.
template <typename Half, int D, int Groups, int Keys, bool Masked>
class Consumer {
  using SharedMemory = Shared<Half, D, Groups, Keys>;
  static constexpr int kPanels = D / kPanel;
  static constexpr int kQueries = Groups * 64;
  static constexpr unsigned kStageBytes = kPanels * Keys * 128;  // bytes of a stage of keys or of values

 public:
  __device__ __forceinline__ Consumer(const FlashSm90& given, SharedMemory& shared) : given_(given), shared_(shared) {}

  __device__ __forceinline__ void run() {
    const int group = uniform(static_cast<int>(threadIdx.x) / 128);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int row_of_tile = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;  // this thread also has the row 8 below
    const std::uint64_t query = ptx::descriptor(ptx::shared_address(shared_.query[group][0]), 16, 1024);
    const std::uint64_t key = ptx::descriptor(ptx::shared_address(shared_.key), 16, 1024);
    const std::uint64_t value = ptx::descriptor(ptx::shared_address(shared_.value), Keys * 128, 1024);
    const float scale = given_.scale;
    RingPosition keys;
    unsigned queries = 0;
    float scores[Keys / 2], context[D / 2];
    std::uint32_t weights[Keys / 16][4];
    if (group == 0) ptx::count_in(turn_of(0), 256);  // warpgroup 0 takes the first turn

    for (;;) {
      ptx::meet(ticket_for(group), kTicketThreads);
      const unsigned block = uniform(shared_.block);
      if (block >= given_.tiling.blocks()) return;
      ptx::count_in(ticket_read_by(group), kTicketThreads);
      Work work(given_, block, kQueries, Keys);
      // The keys before limit[r] are visible to this thread's row r.
      int limit[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = work.first_row + row_of_tile + r * 8;
        limit[r] = given_.causal && !work.uniform ? std::min(work.keys, row + 1) : work.keys;
      }
      const int first_limit =
          given_.causal && !work.uniform ? std::min(work.keys, work.first_row + group * 64 + 1) : work.keys;
      // Whether the row sees no key. On the fused path such a row weights all keys equally.
      bool blank[2] = {work.uniform, work.uniform};
      if constexpr (Masked) {
        const bool no_key = given_.key_mask != nullptr && !sees_any(work, lane);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const int row = work.first_row + row_of_tile + r * 8;
          const bool off = given_.query_mask != nullptr && row < work.rows &&
                           !given_.query_mask[work.b * given_.query_mask_stride + row];
          blank[r] = no_key || off;
        }
      }
      float top[2] = {-INFINITY, -INFINITY}, sum[2] = {}, factor[2] = {1.0F, 1.0F};
#pragma unroll
      for (int i = 0; i < D / 2; ++i) context[i] = 0.0F;

      const auto begin_scores = [&](unsigned offset) {
        ptx::fence_products();
        const std::uint64_t keys_here = ptx::further(key, offset);
#pragma unroll
        for (int h = 0; h < D / 16; ++h) {
          const int panel = h / 4, column = h % 4 * 32;
          ptx::begin_product<Half, Keys>(scores, ptx::further(query, panel * 64 * 128 + column),
                                         ptx::further(keys_here, panel * Keys * 128 + column), h != 0);
        }
        ptx::commit_products();
      };
      const auto begin_context = [&](unsigned offset) {
        ptx::fence_products();
        const std::uint64_t values_here = ptx::further(value, offset);
#pragma unroll
        for (int s = 0; s < Keys / 16; ++s) {
          ptx::begin_product<Half, D>(context, weights[s], ptx::further(values_here, s * 16 * 128));
        }
        ptx::commit_products();
      };
      const auto hide = [&](int tile) {
        if constexpr (Masked) {
          hide_masked(work, tile, lane, blank, scores);
        } else {
#pragma unroll
          for (int r = 0; r < 2; ++r) {
            const int end = limit[r] - tile * Keys - lane % 4 * 2;
#pragma unroll
            for (int j = 0; j < Keys / 8; ++j) {
#pragma unroll
              for (int e = 0; e < 2; ++e) {
                float& x = scores[4 * j + 2 * r + e];
                if (work.uniform) x = 0.0F;
                if (j * 8 + e >= end) x = -INFINITY;
              }
            }
          }
        }
      };
      // The first tile in which a row of the warpgroup may not see all keys.
      const int first_cut = Masked || work.uniform ? 0 : std::min(first_limit / Keys, work.tiles);
      const auto update_softmax = [&] {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          float largest = scores[2 * r];
#pragma unroll
          for (int j = 0; j < Keys / 8; ++j) {
            largest = fmaxf(largest, fmaxf(scores[4 * j + 2 * r], scores[4 * j + 2 * r + 1]));
          }
          largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, 1));
          largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, 2));
          // The running maximum is kept if the new one is only slightly larger. Weights up to 2^8 are as accurate as
          // smaller ones, and the sums then need no rescaling.
          constexpr float kRise = 8.0F;
          const float new_top = largest * scale > top[r] + kRise ? largest * scale : top[r];
          const float base = new_top == -INFINITY ? 0.0F : new_top;
          factor[r] = ptx::exp2(top[r] - base);
          top[r] = new_top;
          float tile_sum = 0.0F;
#pragma unroll
          for (int j = 0; j < Keys / 8; ++j) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              float& x = scores[4 * j + 2 * r + e];
              x = ptx::exp2(fmaf(x, scale, -base));
              tile_sum += x;
            }
          }
          sum[r] = sum[r] * factor[r] + tile_sum;
        }
      };
      const auto round_weights = [&] {
#pragma unroll
        for (int s = 0; s < Keys / 16; ++s) {
#pragma unroll
          for (int q = 0; q < 4; ++q) weights[s][q] = ptx::pack<Half>(scores[8 * s + 2 * q], scores[8 * s + 2 * q + 1]);
        }
      };

      if (work.tiles > 0) {
        ptx::wait_barrier(&shared_.query_full, queries & 1);
        ++queries;
        ptx::wait_barrier(&shared_.key_full[keys.stage()], keys.parity());
        begin_scores(uniform(keys.stage() * kStageBytes));
        ptx::wait_products<0>();
        free(lane, &shared_.key_empty[keys.stage()]);
        if (first_cut == 0) hide(0);
        update_softmax();
        round_weights();
        RingPosition next{keys.count + 1};
        if (work.tiles > 1) ptx::wait_barrier(&shared_.key_full[next.stage()], next.parity());
        const auto go_over = [&](int first, int last, auto hides) {
#pragma unroll 1
          for (int tile = first; tile < last; ++tile) {
            const unsigned key_offset = uniform(next.stage() * kStageBytes);
            const unsigned value_offset = uniform(keys.stage() * kStageBytes);
            ptx::meet(turn_of(group), 256);
            begin_scores(key_offset);
            ptx::wait_barrier(&shared_.value_full[keys.stage()], keys.parity());
            begin_context(value_offset);
            ptx::count_in(turn_of((group + 1) % Groups), 256);
            ptx::wait_products<1>();
            free(lane, &shared_.key_empty[next.stage()]);
            if constexpr (decltype(hides)::value) hide(tile);
            update_softmax();
            // The test of the sums, which are never negative, keeps ptxas from moving exponentials behind the wait,
            // where no wgmma would overlap them.
            const bool moved =
                __any_sync(~0U, factor[0] != 1.0F || factor[1] != 1.0F || !(sum[0] + sum[1] >= 0.0F)) != 0;
            const RingPosition after{next.count + 1};
            if (tile + 1 < work.tiles) ptx::wait_barrier(&shared_.key_full[after.stage()], after.parity());
            ptx::wait_products<0>();
            free(lane, &shared_.value_empty[keys.stage()]);
            if (moved) {
#pragma unroll
              for (int j = 0; j < D / 8; ++j) {
#pragma unroll
                for (int i = 0; i < 4; ++i) context[4 * j + i] *= factor[i / 2];
              }
            }
            round_weights();
            keys = next;
            next = after;
          }
        };
        go_over(1, first_cut, std::false_type{});
        go_over(std::max(first_cut, 1), work.tiles, std::true_type{});
        free(lane, &shared_.query_empty);
        ptx::wait_barrier(&shared_.value_full[keys.stage()], keys.parity());
        begin_context(uniform(keys.stage() * kStageBytes));
        ptx::wait_products<0>();
        free(lane, &shared_.value_empty[keys.stage()]);
        keys = next;
      }
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        sum[r] += __shfl_xor_sync(~0U, sum[r], 1);
        sum[r] += __shfl_xor_sync(~0U, sum[r], 2);
        if (blank[r]) top[r] = -INFINITY;
        if (blank[r] && !given_.uniform_if_empty) sum[r] = 0.0F;
      }
      store(work, row_of_tile, lane, context, top, sum);
    }
  }

 private:
  __device__ __forceinline__ const bool* key_mask(const Work& work) const {
    return given_.key_mask + work.b * given_.key_mask_stride;
  }

  /// Sets all scores of a blank row to 0. In other rows, sets the scores of keys that the mask hides to −∞; in both,
  /// those of keys beyond the end.
  __device__ __forceinline__ void hide_masked(const Work& work, int tile, int lane, const bool (&blank)[2],
                                              float (&scores)[Keys / 2]) const {
#pragma unroll
    for (int i = 0; i < (Keys + 31) / 32; ++i) {
      const int key_at = tile * Keys + i * 32 + lane;
      const bool inside = key_at < work.keys;
      const bool sees = inside && (given_.key_mask == nullptr || key_mask(work)[key_at]);
      // Bit 8j + e belongs to the key in column j·8 + lane % 4 · 2 + e.
      const unsigned there = __ballot_sync(~0U, inside) >> lane % 4 * 2;
      const unsigned seen = __ballot_sync(~0U, sees) >> lane % 4 * 2;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const unsigned kept = blank[r] ? there : seen;
#pragma unroll
        for (int j = 0; j < 4 && i * 4 + j < Keys / 8; ++j) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& x = scores[4 * (i * 4 + j) + 2 * r + e];
            if (blank[r]) x = 0.0F;
            if ((kept >> (j * 8 + e) & 1) == 0) x = -INFINITY;
          }
        }
      }
    }
  }

  /// Returns whether the key mask shows any key of the batch entry. Usually one of the first keys decides it.
  __device__ __forceinline__ bool sees_any(const Work& work, int lane) const {
    bool any = false;
#pragma unroll 1
    for (int first = 0; first < work.keys && !any; first += 32) {
      const int key_at = first + lane;
      any = __any_sync(~0U, key_at < work.keys && key_mask(work)[key_at]) != 0;
    }
    return any;
  }

  /// Returns x. The compiler then knows that x is equal in all lanes of a warp, and computes dependent values once per
  /// warp.
  template <typename T>
  static __device__ __forceinline__ T uniform(T x) {
    return __shfl_sync(~0U, x, 0);
  }

  /// Arrives at the barrier for this warp, so that the producer may overwrite the stage.
  static __device__ __forceinline__ void free(int lane, std::uint64_t* barrier) {
    __syncwarp();
    if (lane == 0) ptx::arrive(barrier);
  }

  /// Transposes within the four lanes of a row. Before, each lane has two columns of four groups of eight; afterwards
  /// it has all columns of one group.
  static __device__ __forceinline__ void transpose(std::uint32_t (&words)[4], int lane) {
#pragma unroll
    for (int step = 1; step <= 2; step *= 2) {
      const bool upper = (lane & step) != 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if ((i & step) != 0) continue;
        const std::uint32_t given = __shfl_xor_sync(~0U, upper ? words[i] : words[i + step], step);
        (upper ? words[i] : words[i + step]) = given;
      }
    }
  }

  __device__ __forceinline__ void store(const Work& work, int row_of_tile, int lane, const float (&context)[D / 2],
                                        const float (&top)[2], const float (&sum)[2]) {
    const HeadsView& view = given_.context;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = work.first_row + row_of_tile + r * 8;
      const bool inside = row < work.rows;
      if (given_.log_sum_exp != nullptr && inside && lane % 4 == 0) {
        given_.log_sum_exp[(static_cast<std::int64_t>(work.b) * given_.N + work.n) * given_.T + row] =
            natural_log_sum(top[r], sum[r]);
      }
      const float inverse = sum[r] == 0.0F ? 0.0F : ptx::reciprocal(sum[r]);
      Half* const to = reinterpret_cast<Half*>(view.data) + work.batch(given_) * view.batch_stride +
                       (work.start + row) * view.row_stride + work.n * view.head_stride;
#pragma unroll
      for (int j = 0; j < D / 8; j += 4) {
        std::uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float* const pair = context + 4 * (j + i) + 2 * r;
          words[i] = ptx::pack<Half>(pair[0] * inverse, pair[1] * inverse);
        }
        transpose(words, lane);
        const int column = (j + lane % 4) * 8;
        if (!inside || column >= given_.V) continue;
        if (given_.stores_vectors) {
          *reinterpret_cast<uint4*>(to + column) = make_uint4(words[0], words[1], words[2], words[3]);
        } else {
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            if (column + i < given_.V) {
              reinterpret_cast<std::uint16_t*>(to)[column + i] = static_cast<std::uint16_t>(words[i / 2] >> i % 2 * 16);
            }
          }
        }
      }
    }
  }

  const FlashSm90& given_;
  SharedMemory& shared_;
};

}  // namespace attn::cuda::sm90
