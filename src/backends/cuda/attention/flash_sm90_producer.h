// The producer warp of the attention kernel with Hopper's instructions: it loads tiles by TMA.
#pragma once

#include "flash_sm90_work.h"
#include "ptx.h"
#include "simt.h"

namespace attn::cuda::sm90 {

template <typename Half, int D, int Groups, int Keys>
class Producer {
  using SharedMemory = Shared<Half, D, Groups, Keys>;
  static constexpr int kPanels = D / kPanel;
  static constexpr int kQueries = Groups * 64;

 public:
  __device__ __forceinline__ Producer(const FlashSm90& given, SharedMemory& shared) : given_(given), shared_(shared) {}

  /// Run by one warp. Only its first lane waits for free stages and issues the TMA loads. The other lanes run ahead and
  /// would miss phases of the barriers, because only clear() synchronizes all lanes.
  __device__ __forceinline__ void run() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    RingPosition first;  // the stage for the next keys and values
    unsigned queries = 0, cuts = 0;
#pragma unroll 1
    for (bool is_first = true;; is_first = false) {
      // A block's first tile has the block's own index. A ticket (the index of the next tile) is drawn only if there
      // are further tiles.
      unsigned block = is_first ? blockIdx.x : given_.tiling.blocks();
      if (!is_first && given_.tiling.blocks() > gridDim.x) {
        if (lane == 0) block = gridDim.x + atomicAdd(given_.next_block, 1U);
        block = __shfl_sync(~0U, block, 0);
      }
      hand_out(block, lane, is_first);
      if (block >= given_.tiling.blocks()) {
        // Every block reaches this point once. The last block resets the counter for the next launch.
        if (lane == 0 && block == given_.tiling.blocks() + gridDim.x - 1) *given_.next_block = 0;
        return;
      }
      const Work work(given_, block, kQueries, Keys);
      if (work.tiles == 0) continue;
      if (lane == 0) load_all_but_last(work, first, queries & 1);
      ++queries;
      first.count += work.tiles - 1;
      load_last_values(work, first, cuts, lane);
      ++first.count;
    }
  }

 private:
  /// Publishes a ticket for every warpgroup, after all warpgroups have read the previous one.
  __device__ __forceinline__ void hand_out(unsigned block, int lane, bool is_first) {
    if (!is_first) {
#pragma unroll
      for (int g = 0; g < Groups; ++g) ptx::meet(ticket_read_by(g), kTicketThreads);
    }
    if (lane == 0) shared_.block = block;
    __syncwarp();
#pragma unroll
    for (int g = 0; g < Groups; ++g) ptx::count_in(ticket_for(g), kTicketThreads);
  }

  __device__ __forceinline__ void load_all_but_last(const Work& work, RingPosition turn, unsigned query_parity) {
    const int b = work.batch(given_), k = work.n / (given_.N / given_.K);
    ptx::wait_barrier(&shared_.query_empty, query_parity ^ 1);
    ptx::arrive_expecting(&shared_.query_full, static_cast<int>(sizeof(shared_.query)));
#pragma unroll 1
    for (int g = 0; g < Groups; ++g) {
#pragma unroll 1
      for (int p = 0; p < kPanels; ++p) {
        ptx::load_box(shared_.query[g][p], &given_.query, &shared_.query_full, p * kPanel, work.n,
                      work.start + work.first_row + g * 64, b);
      }
    }
    // Keys are loaded one tile ahead of values, in the order in which consumers use them.
    int row = work.start;
#pragma unroll 1
    for (int tile = 0; tile < work.tiles; ++tile, ++turn.count, row += Keys) {
      load(shared_.key[turn.stage()], given_.key, &shared_.key_full[turn.stage()], &shared_.key_empty[turn.stage()],
           turn.parity(), k, row, b);
      if (tile == 0) continue;
      const RingPosition last{turn.count - 1};
      load(shared_.value[last.stage()], given_.value, &shared_.value_full[last.stage()],
           &shared_.value_empty[last.stage()], last.parity(), k, row - Keys, b);
    }
  }

  /// Loads the last tile of values. Only this tile may contain rows of padding or of another sequence.
  __device__ __forceinline__ void load_last_values(const Work& work, const RingPosition& turn, unsigned& cuts,
                                                   int lane) {
    auto& to = shared_.value[turn.stage()];
    std::uint64_t* const full = &shared_.value_full[turn.stage()];
    const int row = (work.tiles - 1) * Keys, inside = work.keys - row;
    // Only rows inside the array must be cleared; TMA fills rows beyond it with zeros.
    const bool cut = inside < Keys && work.start + work.keys < array_rows();
    if (lane == 0) {
      load(to, given_.value, cut ? &shared_.cut_full : full, &shared_.value_empty[turn.stage()], turn.parity(),
           work.n / (given_.N / given_.K), work.start + row, work.batch(given_));
    }
    if (!cut) return;
    ptx::wait_barrier(&shared_.cut_full, cuts++ & 1);
    clear(lane, to, inside);
    if (lane == 0) ptx::arrive(full);
  }

  /// Returns the number of rows of keys and values in a batch entry.
  __device__ __forceinline__ int array_rows() const { return given_.starts == nullptr ? given_.S : given_.rows; }

  __device__ __forceinline__ void load(Half (&to)[kPanels][Keys * kPanel], const CUtensorMap& map, std::uint64_t* full,
                                       std::uint64_t* empty, unsigned parity, int head, int row, int b) {
    ptx::wait_barrier(empty, parity ^ 1);
    ptx::arrive_expecting(full, static_cast<int>(sizeof(to)));
#pragma unroll 1
    for (int p = 0; p < kPanels; ++p) ptx::load_box(to[p], &map, full, p * kPanel, head, row, b);
  }

  /// Writes zeros from row `first` on, over padding and over rows of other sequences, because weight 0 times NaN would
  /// be NaN. The swizzle permutes only within a row.
  __device__ __forceinline__ void clear(int lane, Half (&tile)[kPanels][Keys * kPanel], int first) {
    constexpr int kVectors = kPanel / 8;  // 16-byte vectors in a row of a panel
#pragma unroll 1
    for (int p = 0; p < kPanels; ++p) {
      auto* const vectors = reinterpret_cast<uint4*>(tile[p]);
#pragma unroll 1
      for (int i = first * kVectors + lane; i < Keys * kVectors; i += 32) vectors[i] = make_uint4(0, 0, 0, 0);
    }
    ptx::show_to_products();
    __syncwarp();
  }

  const FlashSm90& given_;
  SharedMemory& shared_;
};

}  // namespace attn::cuda::sm90
