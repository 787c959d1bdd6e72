#include "convert.h"

#include <bit>

#include "vector.h"

namespace attn::backends::onednn {
namespace {

ATTN_VECTORIZED(void, widen_bfloat16, const std::uint16_t* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
}

ATTN_VECTORIZED(void, narrow_bfloat16, const float* from, std::uint16_t* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    const std::uint32_t rounded = bits + 0x7FFF + ((bits >> 16) & 1);
    const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
    to[i] = static_cast<std::uint16_t>((is_nan ? bits | 0x400000 : rounded) >> 16);
  }
}

}  // namespace

void widen(DType half, const std::uint16_t* from, float* to, std::int64_t count) {
  if (half == DType::bfloat16) return widen_bfloat16(from, to, count);
  for (std::int64_t i = 0; i < count; ++i) to[i] = float16_to_float(from[i]);
}

void narrow(DType half, const float* from, std::uint16_t* to, std::int64_t count) {
  if (half == DType::bfloat16) return narrow_bfloat16(from, to, count);
  for (std::int64_t i = 0; i < count; ++i) to[i] = float_to_float16(from[i]);
}

}  // namespace attn::backends::onednn
