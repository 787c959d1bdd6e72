// Two 4-bit integers in a byte; the low half has the integer with the even index.
#pragma once

#include <cstdint>

namespace attn {

/// Returns the integer in one half of a byte: −8 … 7 in two's complement, or 0 … 15.
[[nodiscard]] constexpr int nibble(std::uint8_t byte, bool is_high, bool is_signed) noexcept {
  const int bits = is_high ? byte >> 4 : byte & 0xF;
  return is_signed ? (bits ^ 8) - 8 : bits;
}

/// Packs the low four bits of two integers into a byte.
[[nodiscard]] constexpr std::uint8_t byte_of_nibbles(int low, int high) noexcept {
  return static_cast<std::uint8_t>((low & 0xF) | (high & 0xF) << 4);
}

}  // namespace attn
