#include "weight_memory.h"

#include "attn/base/tensor.h"

namespace attn::backends::cpu {
namespace {

/// Minimum bytes of a weight in a shared region. Smaller weights stay in a core's cache, and zeroing a large page for
/// them would cost time.
constexpr std::int64_t kLeastShared = std::int64_t{128} << 10;
/// Maximum bytes of a weight in a shared region. Larger weights fill large pages on their own.
constexpr std::int64_t kMostShared = std::int64_t{16} << 20;
/// Bytes of a region. Pages that are never written need no memory.
constexpr std::int64_t kRegion = std::int64_t{64} << 20;

}  // namespace

std::shared_ptr<std::byte> WeightMemory::allocate(std::int64_t bytes) {
  if (bytes < kLeastShared || bytes > kMostShared) return allocate_bytes(bytes);
  constexpr auto kLine = static_cast<std::int64_t>(kAlignment);
  const std::int64_t taken = (bytes + kLine - 1) / kLine * kLine;
  if (!region_ || used_ + taken > kRegion) {
    region_ = allocate_bytes(kRegion);
    used_ = 0;
  }
  std::byte* const at = region_.get() + used_;
  used_ += taken;
  return {region_, at};
}

}  // namespace attn::backends::cpu
