// Collectives, for several ranks that compute one model. Each has a graph of its own with the same collectives in the
// same order (attn/parallel/parallelize.h). A graph that a single process runs has one rank.
#pragma once

#include <cstddef>
#include <vector>

#include "attn/base/shape.h"

namespace attn::graph {

/// [x] → [Σ over ranks of x, or the maximum], with equal bits on every rank. Half precision is summed wider.
struct AllReduce {
  bool maximum = false;
};

/// [x] → [the x of all ranks concatenated along `axis`]: rank r contributes sizes[r] indices, this one sizes[rank].
struct AllGather {
  int axis = 0;
  std::vector<Dim> sizes;
  int rank = 0;
};

/// [x] → [this rank's shard of Σ over ranks of x]: sizes[rank] indices of `axis`, after those of lower ranks.
struct ReduceScatter {
  int axis = 0;
  std::vector<Dim> sizes;
  int rank = 0;
};

/// [x] → [the x of the previous rank]: the shards of an array circulate around a ring. After `turns` shifts, rank r has
/// the shard of rank r − turns, modulo the number of ranks; that shard has sizes[that rank] indices of `axis`. x is the
/// shard that the rank has before the last shift.
struct Shift {
  int axis = 0;
  std::vector<Dim> sizes;
  int rank = 0;
  int turns = 1;
  /// Returns the rank whose shard this rank has after that many shifts.
  [[nodiscard]] std::size_t holds(int after) const {
    const int ranks = static_cast<int>(sizes.size());
    return static_cast<std::size_t>(((rank - after) % ranks + ranks) % ranks);
  }
};

// clang-format off
/// Operations that communicate between ranks.
#define ATTN_COLLECTIVE_OPS(OP) \
  OP(AllReduce, "all_reduce") OP(AllGather, "all_gather") OP(ReduceScatter, "reduce_scatter") \
  OP(Shift, "shift")
// clang-format on

}  // namespace attn::graph
