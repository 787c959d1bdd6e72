#include "ramp.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace attn::report {
namespace {

constexpr double kDecades = 4;

int channel(std::string_view hex, std::size_t index) {
  int value = 0;
  std::from_chars(hex.data() + 1 + 2 * index, hex.data() + 3 + 2 * index, value, 16);
  return value;
}

}  // namespace

Color color_at(const std::array<const char*, 5>& ramp, double share) {
  const double at = std::clamp(share, 0.0, 1.0) * static_cast<double>(ramp.size() - 1);
  const std::size_t low = std::min(static_cast<std::size_t>(at), ramp.size() - 2);
  Color out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int from = channel(ramp[low], i), to = channel(ramp[low + 1], i);
    out[i] = static_cast<std::uint8_t>(std::lround(from + (to - from) * (at - static_cast<double>(low))));
  }
  return out;
}

double shade_of(double weight, double largest, bool log_scale) {
  if (weight <= 0 || largest <= 0) return 0;
  const double share = std::min(1.0, weight / largest);
  return log_scale ? std::max(0.0, 1 + std::log10(share) / kDecades) : share;
}

}  // namespace attn::report
