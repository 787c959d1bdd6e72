// Two integers of 4 bits in a byte: the one of even index in the low half.
#pragma once

#include <cstdint>

namespace attn {

/// The integer in a half of a byte: −8 … 7 by two's complement, or 0 … 15.
[[nodiscard]] constexpr int nibble(std::uint8_t byte, bool is_high, bool is_signed) noexcept {
  const int bits = is_high ? byte >> 4 : byte & 0xF;
  return is_signed ? (bits ^ 8) - 8 : bits;
}

/// A byte of two integers, of which the four low bits count.
[[nodiscard]] constexpr std::uint8_t byte_of_nibbles(int low, int high) noexcept {
  return static_cast<std::uint8_t>((low & 0xF) | (high & 0xF) << 4);
}

}  // namespace attn
