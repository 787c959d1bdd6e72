// Building blocks of functions and their derivatives.
#pragma once

#include <algorithm>
#include <cmath>

namespace attn::backends::reference {

inline constexpr double kSeluAlpha = 1.6732632423543772848;
inline constexpr double kSeluScale = 1.0507009873554804934;
inline constexpr double kHardSigmoidReach = 3.0;  // the function reaches 1 there

/// Returns x itself if it is NaN; std::min and std::max would drop it, depending on the order of the operands.
inline double clip(double x, double low, double high) { return std::isnan(x) ? x : std::min(std::max(x, low), high); }

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
inline double hard_sigmoid(double x, double reach) { return clip(x + reach, 0.0, 2.0 * reach) / (2.0 * reach); }

inline double sign(double x) {
  if (std::isnan(x)) return x;
  return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0;
}

}  // namespace attn::backends::reference
