// Sizes that cannot wrap: every product or sum of numbers that came from a file goes through here.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace attn {

/// For counts that pass 64 bits, such as the parameters of a config that nobody can build.
__extension__ using UInt128 = unsigned __int128;

/// The largest element or byte count that is ever believed; one more doubling still fits a signed 64-bit number.
inline constexpr std::int64_t kMaxSize = std::int64_t{1} << 62;

/// a * b for non-negative a and b, or nothing where it passes kMaxSize.
[[nodiscard]] constexpr std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) noexcept {
  if (a < 0 || b < 0) return std::nullopt;
  if (a != 0 && b > kMaxSize / a) return std::nullopt;
  return a * b;
}

/// a + b for non-negative a and b, or nothing where it passes kMaxSize.
[[nodiscard]] constexpr std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) noexcept {
  if (a < 0 || b < 0 || b > kMaxSize - a) return std::nullopt;
  return a + b;
}

/// The product of non-negative factors, or nothing where it passes kMaxSize. The empty product is 1.
[[nodiscard]] constexpr std::optional<std::int64_t> checked_product(std::span<const std::int64_t> factors) noexcept {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    const auto next = checked_mul(product, factor);
    if (!next) return std::nullopt;
    product = *next;
  }
  return product;
}

}  // namespace attn
