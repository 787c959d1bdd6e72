// Memory for packed weights, in large pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace attn::backends::cpu {

/// Large pages for weights. Weights that a single row is multiplied by are read at memory speed only from large pages.
/// Prefetching stops at the end of a page, and the next page's TLB miss takes as long as 64 cache lines. A weight of
/// some hundred kilobytes does not fill a large page, so many of them share a region.
class WeightMemory {
 public:
  /// Returns zeroed memory aligned to kAlignment, alive as long as somebody holds it. A region is freed with its last
  /// weight. Throws Error (no_memory).
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::int64_t bytes);

 private:
  std::shared_ptr<std::byte> region_;
  std::int64_t used_ = 0;
};

}  // namespace attn::backends::cpu
