// From a weight to a colour.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace attn::report {

using Color = std::array<std::uint8_t, 3>;

/// Five colours from none to the largest, on light and on dark paper.
inline constexpr std::array<const char*, 5> kLightRamp = {"#ffffff", "#cfe0f3", "#7fb0de", "#2f6fb5", "#10305f"};
inline constexpr std::array<const char*, 5> kDarkRamp = {"#161b23", "#203c66", "#3a75b8", "#8cc0ee", "#f6fbff"};

/// The colour at `share`, 0 to 1, between the stops.
[[nodiscard]] Color color_at(const std::array<const char*, 5>& ramp, double share);

/// How far along the ramp a weight is: its share of the largest, or with `log_scale` the last four decades below it.
[[nodiscard]] double shade_of(double weight, double largest, bool log_scale);

}  // namespace attn::report
