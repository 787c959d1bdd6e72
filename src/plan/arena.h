// Offsets for buffers that live for a while. Private to the room.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attn::plan {

/// A buffer that is in use from step `first` to step `last`, both included.
struct Lifetime {
  std::int64_t bytes = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct Placement {
  std::vector<std::int64_t> offsets;  ///< one per lifetime, multiples of kAlignment
  std::int64_t bytes = 0;             ///< the end of the last buffer, rounded up to kAlignment
};

/// Places each buffer where no other lies at the same time. Greedy by size: the largest first, each at the lowest gap
/// that holds it, which comes within a few percent of the best on real networks (Pisarchyk & Lee, "Efficient Memory
/// Management for Deep Neural Net Inference", 2020). That takes time quadratic in the number of buffers: more than
/// 10,000 are placed in order of time, each at the smallest gap that holds it. Throws Error (no_memory) where a size
/// passes kMaxSize.
[[nodiscard]] Placement place(std::span<const Lifetime> lifetimes);

}  // namespace attn::plan
