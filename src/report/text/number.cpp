#include "attn/report/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attn/base/text.h"

namespace attn::report {
namespace {

constexpr double kThousand = 999.5;  // rounds to four digits before the decimal point

/// Returns the number of decimals that give three significant digits after rounding.
int decimals_of(double value) {
  const std::string rounded = fmt::format("{:.2e}", value);
  const int exponent = std::stoi(rounded.substr(rounded.find('e') + 1));
  return value == 0 ? 0 : std::max(0, 2 - exponent);
}

}  // namespace

std::string number(double value) {
  if (std::isnan(value)) return "nan";  // the sign of a NaN has no meaning
  return fmt::format("{:.6g}", value);
}

std::string measured(double value) {
  constexpr double kSmallest = 1e-6;  // smaller numbers, and those above 64-bit integers, have an exponent
  constexpr double kLargest = 1e15;
  const double magnitude = std::fabs(value);
  if (!std::isfinite(value) || magnitude > kLargest || (value != 0 && magnitude < kSmallest)) return number(value);
  if (magnitude >= kThousand) return with_commas(static_cast<std::int64_t>(std::llround(value)));
  return fmt::format("{:.{}f}", value, decimals_of(value));
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds)) return number(seconds);
  const double magnitude = std::fabs(seconds);
  if (magnitude == 0) return "0 s";
  if (magnitude * 1e9 < kThousand) return measured(seconds * 1e9) + " ns";
  if (magnitude * 1e6 < kThousand) return measured(seconds * 1e6) + " µs";
  if (magnitude * 1e3 < kThousand) return measured(seconds * 1e3) + " ms";
  constexpr double kMinute = 60;
  if (magnitude < kMinute) return measured(seconds) + " s";
  const double whole = std::round(seconds);
  return fmt::format("{:.0f} min {:02.0f} s", std::trunc(whole / kMinute), std::fabs(std::fmod(whole, kMinute)));
}

std::string prefixed(double value, std::string_view unit) {
  constexpr std::array<std::string_view, 6> kPrefixes{"", "k", "M", "G", "T", "P"};
  std::size_t i = 0;
  while (std::isfinite(value) && std::fabs(value) >= kThousand && i + 1 < kPrefixes.size()) {
    value /= 1000;
    ++i;
  }
  return fmt::format("{} {}{}", measured(value), kPrefixes[i], unit);
}

std::string byte_size(std::int64_t bytes) { return bytes < 0 ? "-" : memory_size(static_cast<UInt128>(bytes)); }

std::string counted(std::int64_t count, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", with_commas(count), count == 1 ? one : more);
}

std::string counted(std::int64_t count, std::string_view what) {
  return counted(count, what, fmt::format("{}s", what));
}

std::string percent(double share) { return measured(share * 100) + "%"; }

}  // namespace attn::report
