#include "attn/base/finite.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace attn {
namespace {

/// Numbers are NaN or infinite if all bits of the exponent are set.
template <typename Bits>
bool all_finite(const Tensor& tensor, Bits exponent) {
  constexpr std::size_t kBlock = 4096;  // elements without an early exit, so that the loop is vectorized
  const std::span<const Bits> bits(reinterpret_cast<const Bits*>(tensor.data()),
                                   static_cast<std::size_t>(tensor.size()));
  for (std::size_t first = 0; first < bits.size(); first += kBlock) {
    Bits found = 0;
    for (const Bits element : bits.subspan(first, std::min(kBlock, bits.size() - first)))
      found = static_cast<Bits>(found | ((element & exponent) == exponent ? 1 : 0));
    if (found != 0) return false;
  }
  return true;
}

}  // namespace

bool all_finite(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::float16:
      return all_finite<std::uint16_t>(tensor, 0x7c00);
    case DType::bfloat16:
      return all_finite<std::uint16_t>(tensor, 0x7f80);
    case DType::float32:
      return all_finite<std::uint32_t>(tensor, 0x7f800000);
    case DType::float64:
      return all_finite<std::uint64_t>(tensor, 0x7ff0000000000000);
    default:
      return true;
  }
}

}  // namespace attn
