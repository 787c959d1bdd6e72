// Memory for packed weights, in large pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace attn::backends::cpu {

/// Large pages for weights. A GEMV reads its weight at memory speed only from large pages. Prefetching stops at the end
/// of a page, and the TLB miss of the next page costs as much as 64 cache lines. A weight of some hundred kilobytes
/// does not fill a large page, so many weights share a region.
class WeightMemory {
 public:
  /// Returns zeroed memory aligned to kAlignment, which exists as long as the pointer or a copy does. A region is freed
  /// with its last weight. Throws Error (no_memory).
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::int64_t bytes);

 private:
  std::shared_ptr<std::byte> region_;
  std::int64_t used_ = 0;
};

}  // namespace attn::backends::cpu
