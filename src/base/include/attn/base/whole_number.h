// Integers that are stored as double.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace attn {

/// Returns the number as an integer, or nothing if it has a fraction, is not finite, or has a magnitude of 2^53 or
/// more, where double skips integers.
[[nodiscard]] inline std::optional<std::int64_t> whole_number(double number) noexcept {
  constexpr double kMost = 9007199254740992.0;
  const bool is_whole = std::abs(number) < kMost && number == std::trunc(number);
  return is_whole ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
}

}  // namespace attn
