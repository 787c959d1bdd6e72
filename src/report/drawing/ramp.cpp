#include "ramp.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
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

bool is_causal(const run::LayerMap& layer, const run::HeadMap& head) {
  if (layer.rows != layer.columns || layer.rows < 3 || layer.queries != layer.keys) return false;
  for (std::int64_t row = 0; row < layer.rows; ++row)
    for (std::int64_t column = row + 1; column < layer.columns; ++column)
      if (head.cells[static_cast<std::size_t>(row * layer.columns + column)] > 0) return false;
  return true;
}

std::optional<float> uniform_least(const run::HeadMap& head) {
  float least = std::numeric_limits<float>::infinity(), largest = 0;
  for (const float weight : head.cells) {
    if (weight > 0) least = std::min(least, weight);  // a mask hides the others
    largest = std::max(largest, weight);
  }
  return largest > least && largest - least < 0.25F * largest ? std::optional(least) : std::nullopt;
}

Shades::Shades(const run::LayerMap& layer, const run::HeadMap& head, bool log_scale)
    : layer_(layer), head_(head), log_scale_(log_scale) {
  if (head.cells.empty()) return;
  largest_ = *std::max_element(head.cells.begin(), head.cells.end());
  if (log_scale) return;
  if (is_causal(layer, head)) {
    for (std::int64_t row = 0; row < layer.rows; ++row) {
      const auto first = head.cells.begin() + row * layer.columns;
      largest_of_rows_.push_back(*std::max_element(first, first + layer.columns));
    }
  } else {
    least_ = uniform_least(head).value_or(0);
  }
}

double Shades::at(std::int64_t row, std::int64_t column) const {
  if (row >= layer_.rows || column >= layer_.columns) return 0;
  const float weight = head_.cells[static_cast<std::size_t>(row * layer_.columns + column)];
  const float largest = largest_of_rows_.empty() ? largest_ : largest_of_rows_[static_cast<std::size_t>(row)];
  return shade_of(weight - least_, largest - least_, log_scale_);
}

std::string Shades::words() const {
  if (log_scale_) return "four decades up to each head's largest";
  if (!largest_of_rows_.empty()) return "from 0 to each query's largest";
  return least_ > 0 ? "from each head's smallest to its largest" : "from 0 to each head's largest";
}

}  // namespace attn::report
