// From a weight to a colour.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "attn/run/attention_maps.h"

namespace attn::report {

using Color = std::array<std::uint8_t, 3>;

/// Five colours from none to the largest, on light and on dark paper.
inline constexpr std::array<const char*, 5> kLightRamp = {"#ffffff", "#cfe0f3", "#7fb0de", "#2f6fb5", "#10305f"};
inline constexpr std::array<const char*, 5> kDarkRamp = {"#161b23", "#203c66", "#3a75b8", "#8cc0ee", "#f6fbff"};

/// The colour at `share`, 0 to 1, between the stops.
[[nodiscard]] Color color_at(const std::array<const char*, 5>& ramp, double share);

/// How far along the ramp a weight is: its share of the largest, or with `log_scale` the last four decades below it.
[[nodiscard]] double shade_of(double weight, double largest, bool log_scale);

/// Does no query attend to a key behind it, of three and more?
[[nodiscard]] bool is_causal(const run::LayerMap& layer, const run::HeadMap& head);
/// Do its weights differ by less than a quarter of the largest?
[[nodiscard]] bool is_uniform(const run::HeadMap& head);

/// The shades of a head's cells, 0 to 1: of a causal head up to the largest of each query, of a uniform one from its
/// smallest to its largest weight, else up to its largest; or the logarithm.
class Shades {
 public:
  Shades(const run::LayerMap& layer, const run::HeadMap& head, bool log_scale);
  [[nodiscard]] double at(std::int64_t row, std::int64_t column) const;
  /// "up to each query's largest", for a caption.
  [[nodiscard]] std::string words() const;

 private:
  const run::LayerMap& layer_;
  const run::HeadMap& head_;
  bool log_scale_;
  float least_ = 0, largest_ = 0;
  std::vector<float> largest_of_rows_;  // of a causal head
};

}  // namespace attn::report
