#include "convert.h"

#include <bit>

#include "vector.h"

namespace attn::backends::cpu {
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

ATTN_VECTORIZED(void, widen_float16, const std::uint16_t* from, float* to, std::int64_t count) {
  constexpr std::uint32_t kBiases = (127 - 15) << 23;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t sign = (from[i] & 0x8000U) << 16, magnitude = from[i] & 0x7FFFU;
    // Above 0.5, float32 numbers are 2^-24 apart, like subnormal float16 numbers.
    const float subnormal = std::bit_cast<float>(std::bit_cast<std::uint32_t>(0.5F) + magnitude) - 0.5F;
    // The exponent of ∞ and NaN needs twice the bias.
    const std::uint32_t other = (magnitude << 13) + (magnitude < 0x7C00 ? kBiases : 2 * kBiases);
    to[i] = std::bit_cast<float>(sign | (magnitude < 0x400 ? std::bit_cast<std::uint32_t>(subnormal) : other));
  }
}

ATTN_VECTORIZED(void, narrow_float16, const float* from, std::uint16_t* to, std::int64_t count) {
  constexpr std::uint32_t kBiases = (127 - 15) << 23, kLeastNormal = 113 << 23, kTooLarge = 143 << 23;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    const std::uint32_t magnitude = bits & 0x7FFFFFFF;
    // The inverse conversion: the sum rounds to a multiple of 2^-24.
    const auto subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
    const std::uint32_t normal = (magnitude + 0xFFF + ((magnitude >> 13) & 1) - kBiases) >> 13;
    const std::uint32_t nan = 0x7E00 | ((magnitude >> 13) & 0x3FF);
    const std::uint32_t finite = magnitude < kLeastNormal ? subnormal : magnitude < kTooLarge ? normal : 0x7C00;
    to[i] = static_cast<std::uint16_t>(((bits >> 16) & 0x8000) | (magnitude > 0x7F800000 ? nan : finite));
  }
}

}  // namespace

void widen(DType half, const std::uint16_t* from, float* to, std::int64_t count) {
  (half == DType::bfloat16 ? widen_bfloat16 : widen_float16)(from, to, count);
}

void narrow(DType half, const float* from, std::uint16_t* to, std::int64_t count) {
  (half == DType::bfloat16 ? narrow_bfloat16 : narrow_float16)(from, to, count);
}

}  // namespace attn::backends::cpu
