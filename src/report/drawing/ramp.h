// Maps attention weights to colors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/run/attention_maps.h"

namespace attn::report {

using Color = std::array<std::uint8_t, 3>;

/// Five colors from zero to the largest weight, for the light and dark theme.
inline constexpr std::array<const char*, 5> kLightRamp = {"#ffffff", "#cfe0f3", "#7fb0de", "#2f6fb5", "#10305f"};
inline constexpr std::array<const char*, 5> kDarkRamp = {"#161b23", "#203c66", "#3a75b8", "#8cc0ee", "#f6fbff"};

/// Returns the interpolated color at `share`, 0 to 1.
[[nodiscard]] Color color_at(const std::array<const char*, 5>& ramp, double share);

/// Returns the position of a weight on the ramp: its ratio to the largest weight; with `log_scale`, its logarithm
/// within four decades below it.
[[nodiscard]] double shade_of(double weight, double largest, bool log_scale);

/// Returns whether the layer has at least three positions and no query attends to a later key.
[[nodiscard]] bool is_causal(const run::LayerMap& layer, const run::HeadMap& head);
/// Returns the smallest weight of a uniform head, whose weights differ by less than a quarter of the largest. Zeros,
/// which a mask leaves, do not count.
[[nodiscard]] std::optional<float> uniform_least(const run::HeadMap& head);

/// The shades of a head's cells, 0 to 1. For a causal head they are relative to the largest weight of each query. For a
/// uniform head they are relative to the range from smallest to largest weight, otherwise to the largest weight. They
/// may also be logarithmic.
class Shades {
 public:
  Shades(const run::LayerMap& layer, const run::HeadMap& head, bool log_scale);
  [[nodiscard]] double at(std::int64_t row, std::int64_t column) const;
  /// Returns the meaning of a shade for a caption: "from 0 to each query's largest".
  [[nodiscard]] std::string words() const;

 private:
  const run::LayerMap& layer_;
  const run::HeadMap& head_;
  bool log_scale_;
  float least_ = 0, largest_ = 0;
  std::vector<float> largest_of_rows_;  // largest weight of each query, for a causal head
};

}  // namespace attn::report
