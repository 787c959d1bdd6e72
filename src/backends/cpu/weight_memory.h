// Memory for packed weights, in large pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace attn::backends::cpu {

/// Weights that one row passes through come at the memory's speed only from large pages: where a page ends, fetching
/// ahead ends too, and finding the next one takes as long as 64 lines. A weight of some hundred kilobytes fills none,
/// so many of them share a region of such pages.
class WeightMemory {
 public:
  /// Zeros, aligned to kAlignment, which live as long as somebody holds them. A region goes when nobody holds any of
  /// its weights. Throws Error (no_memory).
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::int64_t bytes);

 private:
  std::shared_ptr<std::byte> region_;
  std::int64_t used_ = 0;
};

}  // namespace attn::backends::cpu
