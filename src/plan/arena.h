// Offsets for buffers with limited lifetimes. Private to the module.
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
  std::vector<std::int64_t> offsets;  ///< offset in bytes of each buffer, a multiple of kAlignment
  std::int64_t bytes = 0;             ///< end in bytes of the last buffer, rounded up to kAlignment
};

/// Places each buffer without overlapping others that are live at the same time. Greedy by size: the largest first,
/// each at the lowest gap that fits. This is within a few percent of the optimum on real networks (Pisarchyk & Lee,
/// "Efficient Memory Management for Deep Neural Net Inference", 2020). It takes time quadratic in the number of
/// buffers, so more than 10,000 are placed in order of time, each at the smallest gap that fits. Throws Error
/// (no_memory) if a size exceeds kMaxSize.
[[nodiscard]] Placement place(std::span<const Lifetime> lifetimes);

}  // namespace attn::plan
