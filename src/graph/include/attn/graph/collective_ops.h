// Several ranks that compute one thing, each by a graph of its own with the same collectives in the same order
// (attn/parallel/parallelize.h). Of a graph that one process runs alone there is one rank.
#pragma once

#include <cstddef>
#include <vector>

#include "attn/base/shape.h"

namespace attn::graph {

/// [x] → [Σ over ranks of x, or the maximum], the same bits on every rank. Halves are added wider and rounded once.
struct AllReduce {
  bool maximum = false;
};

/// [x] → [the x of all ranks joined along `axis`]: rank r has sizes[r] of it, this one sizes[rank].
struct AllGather {
  int axis = 0;
  std::vector<Dim> sizes;
  int rank = 0;
};

/// [x] → [this rank's part of Σ over ranks of x]: the sizes[rank] indices of `axis` behind those of lower ranks.
struct ReduceScatter {
  int axis = 0;
  std::vector<Dim> sizes;
  int rank = 0;
};

/// [x] → [the x of the rank before]: parts of an array go round a ring. After `turns` shifts rank r holds the part of
/// rank r − turns, modulo the number of ranks, which has sizes[of it] indices of `axis`; x is what it holds before the
/// last of these.
struct Shift {
  int axis = 0;
  std::vector<Dim> sizes;
  int rank = 0;
  int turns = 1;
  /// Whose part this rank holds after so many.
  [[nodiscard]] std::size_t holds(int after) const {
    const int ranks = static_cast<int>(sizes.size());
    return static_cast<std::size_t>(((rank - after) % ranks + ranks) % ranks);
  }
};

}  // namespace attn::graph
