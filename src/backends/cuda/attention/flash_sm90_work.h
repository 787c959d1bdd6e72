// The work of the attention kernel on Hopper's instructions: a tile of queries with the keys that it sees, and what the
// warps that fetch and the warpgroups that compute share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "flash_sm90.h"
#include "ptx.h"
#include "tiles.h"

namespace attn::cuda::sm90 {

constexpr int kStages = 2;
constexpr int kPanel = 64;  // columns

template <typename Half, int D, int Groups, int Keys>
struct Shared {
  alignas(1024) Half query[Groups][D / kPanel][64 * kPanel];
  alignas(1024) Half key[kStages][D / kPanel][Keys * kPanel];
  alignas(1024) Half value[kStages][D / kPanel][Keys * kPanel];
  alignas(8) std::uint64_t query_full, query_empty;
  std::uint64_t key_full[kStages], key_empty[kStages], value_full[kStages], value_empty[kStages];
  std::uint64_t cut_full;  // a tile of values is there whose last rows are to become zeros
  unsigned block;          // the ticket of the next tile of queries
};

/// Barriers of the block, each of a warpgroup: when it has its turn at the tensor cores, when a ticket is there for it,
/// and when it has read that. They are the hardware's numbered ones, and no mbarriers, because tools that look for
/// races know that these order what threads write and read.
constexpr int turn_of(int group) { return 1 + group; }
constexpr int ticket_for(int group) { return 4 + group; }
constexpr int ticket_read_by(int group) { return 7 + group; }
constexpr int kTicketThreads = 32 + 128;  // the warp that hands it out, and those who take it

/// Counts what goes through a ring of stages.
struct Turn {
  unsigned count = 0;

  __device__ __forceinline__ unsigned stage() const { return count % kStages; }
  __device__ __forceinline__ unsigned parity() const { return count / kStages % 2; }
};

/// A tile of queries, and the keys that it sees. Rows and keys are counted from where the sequence starts.
struct Work {
  int b, n, first_row;
  int start, rows;  // of the sequence; rows of queries
  int keys;         // that are not padding
  bool uniform;     // no key is seen, and all count the same
  int tiles;        // of keys

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

  /// Its place among the batch entries: sequences one behind the other are all in the first.
  __device__ __forceinline__ int batch(const FlashSm90& given) const { return given.starts == nullptr ? b : 0; }
};

}  // namespace attn::cuda::sm90
