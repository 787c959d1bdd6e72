// Overflow-checked sizes: every product or sum of numbers from a file uses these functions.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace attn {

/// For counts above 64 bits, such as the parameters of a config that is too large to build.
__extension__ using UInt128 = unsigned __int128;

/// The largest accepted element or byte count; twice it still fits a signed 64-bit number.
inline constexpr std::int64_t kMaxSize = std::int64_t{1} << 62;

/// The largest reported count of one operation or array. Sums over a whole program still fit UInt128.
inline constexpr UInt128 kMaxCount = UInt128{1} << 100;

/// Returns the product of counts, or nothing if it exceeds kMaxCount.
template <typename Numbers>
[[nodiscard]] constexpr std::optional<UInt128> count_product(const Numbers& numbers) noexcept {
  UInt128 product = 1;
  for (const auto number : numbers)
    if (number == 0) return 0;
  for (const auto number : numbers) {
    if (static_cast<UInt128>(number) > kMaxCount / product) return std::nullopt;
    product *= static_cast<UInt128>(number);
  }
  return product;
}

/// Returns a * b for non-negative a and b, or nothing if it exceeds kMaxSize.
[[nodiscard]] constexpr std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) noexcept {
  if (a < 0 || b < 0) return std::nullopt;
  if (a != 0 && b > kMaxSize / a) return std::nullopt;
  return a * b;
}

/// Returns a + b for non-negative a and b, or nothing if it exceeds kMaxSize.
[[nodiscard]] constexpr std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) noexcept {
  if (a < 0 || b < 0 || b > kMaxSize - a) return std::nullopt;
  return a + b;
}

/// Returns the product of non-negative factors, or nothing if it exceeds kMaxSize. The empty product is 1.
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
