// The work unit of the attention kernel with Hopper's instructions (a tile of queries with the keys that it sees), and
// the shared memory of producer and consumers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "flash_sm90.h"
#include "ptx.h"
#include "tiles.h"

namespace attn::cuda::sm90 {

constexpr int kStages = 2;
constexpr int kPanel = 64;  // columns of a panel

template <typename Half, int D, int Groups, int Keys>
struct Shared {
  alignas(1024) Half query[Groups][D / kPanel][64 * kPanel];
  alignas(1024) Half key[kStages][D / kPanel][Keys * kPanel];
  alignas(1024) Half value[kStages][D / kPanel][Keys * kPanel];
  alignas(8) std::uint64_t query_full, query_empty;
  std::uint64_t key_full[kStages], key_empty[kStages], value_full[kStages], value_empty[kStages];
  std::uint64_t cut_full;  // signals a tile of values whose last rows must be cleared
  unsigned block;          // ticket: index of the next tile of queries
};

/// Barriers of the block, one set per warpgroup: it is the warpgroup's turn at the tensor cores, a ticket is ready, the
/// ticket was read. They are the hardware's numbered barriers rather than mbarriers, because race detectors know that
/// these order writes and reads of threads.
constexpr int turn_of(int group) { return 1 + group; }
constexpr int ticket_for(int group) { return 4 + group; }
constexpr int ticket_read_by(int group) { return 7 + group; }
constexpr int kTicketThreads = 32 + 128;  // the producer warp, and the warpgroup that reads the ticket

/// A position in the ring of kStages stages.
struct RingPosition {
  unsigned count = 0;

  __device__ __forceinline__ unsigned stage() const { return count % kStages; }
  __device__ __forceinline__ unsigned parity() const { return count / kStages % 2; }
};

/// A tile of queries and the keys that it sees. Rows and keys are relative to the start of the sequence.
struct Work {
  int b, n, first_row;
  int start, rows;  // first row of the sequence; number of its queries
  int keys;         // number of keys that are not padding
  bool uniform;     // whether no key is visible, so that all are weighted equally
  int tiles;        // number of tiles of keys

  __device__ __forceinline__ Work(const FlashSm90& given, unsigned block, int queries, int tile) {
    const TilePlace place = place_of(given.tiling, block);
    b = place.head / given.N;
    n = place.head % given.N;
    first_row = place.tile * queries;
    start = 0;
    rows = given.T;
    keys = given.lengths == nullptr ? given.S : std::min(std::max(given.lengths[b], 0), given.S);
    if (given.starts != nullptr) {
      start = given.starts[b];
      rows = keys = std::min(given.S, given.starts[b + 1] - start);
    }
    uniform = keys == 0 && given.uniform_if_empty && given.starts == nullptr;
    if (uniform) keys = given.S;
    const int end = given.causal && !uniform ? std::min(keys, first_row + queries) : keys;
    tiles = first_row < rows ? (end + tile - 1) / tile : 0;
  }

  /// Returns the index in the batch: concatenated sequences all belong to entry 0.
  __device__ __forceinline__ int batch(const FlashSm90& given) const { return given.starts == nullptr ? b : 0; }
};

}  // namespace attn::cuda::sm90
