// Ranges of training-related numbers in configs.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "config/json.h"

namespace attn::keras {

/// A range of numbers with finite bounds.
struct Bounds {
  double least, most;
  std::string_view expected;          ///< "a number from 0 to 1"
  bool above = false, below = false;  ///< whether `least` is excluded, and whether `most` is

  [[nodiscard]] bool hold(double x) const { return (above ? x > least : x >= least) && (below ? x < most : x <= most); }
};

/// The largest float32. Optimizers and losses compute in float32 for any dtype of a variable.
inline constexpr double kMostFloat = 3.4028234663852886e38;
inline constexpr Bounds kFinite{-kMostFloat, kMostFloat, "a number that float32 holds"};
inline constexpr Bounds kNotNegative{0.0, kMostFloat, "a number from 0 on that float32 holds"};
inline constexpr Bounds kAboveZero{0.0, kMostFloat, "a number above 0 that float32 holds", true};
inline constexpr Bounds kFromZeroToOne{0.0, 1.0, "a number from 0 to 1"};
inline constexpr Bounds kBelowOne{0.0, 1.0, "a number from 0 up to, but not including, 1", false, true};
inline constexpr Bounds kUpToOne{0.0, 1.0, "a number above 0 and up to 1", true};

/// Returns the number at `ref`. Throws Error (bad_input) if the value is not a number or is out of bounds.
[[nodiscard]] double number_in(const Ref& ref, const Bounds& bounds);
/// Returns the integer at `ref`. Throws Error (bad_input) if the value is not an integer from `least` to `most`.
[[nodiscard]] std::int64_t integer_in(const Ref& ref, std::int64_t least, std::int64_t most);

/// Returns the integer part of size · ratio. Throws Error (bad_input) unless it is from 0 to 2^31 − 1.
[[nodiscard]] std::int64_t scaled_size(std::int64_t size, double ratio);

/// The maximum of step counters and of options in steps.
inline constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;

}  // namespace attn::keras
