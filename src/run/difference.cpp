#include "attn/run/difference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace attn::run {
namespace {

constexpr int kMostBins = 10;

/// Sign and magnitude of a number's bits. The magnitude counts the representable numbers from zero.
struct Steps {
  bool negative = false;
  std::uint64_t magnitude = 0;
};

template <typename Bits>
Steps steps_of(Bits bits) {
  constexpr int kSign = 8 * static_cast<int>(sizeof(Bits)) - 1;
  const auto wide = static_cast<std::uint64_t>(bits);
  return {((wide >> kSign) & 1) != 0, wide & ((std::uint64_t{1} << kSign) - 1)};
}

Steps steps_of(double value, DType dtype) {
  switch (dtype) {
    case DType::float16:
      return steps_of(double_to_float16(value));
    case DType::bfloat16:
      return steps_of(double_to_bfloat16(value));
    case DType::float64:
      return steps_of(std::bit_cast<std::uint64_t>(value));
    default:
      return steps_of(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  }
}

/// Returns the power k of ten with 10^(k−1) < value ≤ 10^k.
int decade_of(double value) {
  const int k = static_cast<int>(std::ceil(std::log10(value)));
  return value <= std::pow(10.0, k - 1) ? k - 1 : value > std::pow(10.0, k) ? k + 1 : k;
}

}  // namespace

std::optional<std::uint64_t> steps_between(double a, double b, DType dtype) {
  if (std::isnan(a) || std::isnan(b)) return std::nullopt;
  const Steps x = steps_of(a, dtype), y = steps_of(b, dtype);
  if (x.negative != y.negative) return x.magnitude + y.magnitude;
  return std::max(x.magnitude, y.magnitude) - std::min(x.magnitude, y.magnitude);
}

std::uint64_t most_steps(const Tensor& a, const Tensor& b, DType dtype) {
  std::uint64_t most = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if (x != y && std::isfinite(x) && std::isfinite(y)) most = std::max(most, *steps_between(x, y, dtype));
  }
  return most;
}

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return std::ldexp(1.0, -52);
    case DType::float16:
      return std::ldexp(1.0, -10);
    case DType::bfloat16:
      return std::ldexp(1.0, -7);
    default:
      return std::ldexp(1.0, -23);
  }
}

DType coarser(DType a, DType b) {
  if (!is_floating(a)) return b;
  if (!is_floating(b)) return a;
  return epsilon_of(a) >= epsilon_of(b) ? a : b;
}

Histogram histogram(const Tensor& a, const Tensor& b) {
  Histogram out;
  std::map<int, std::int64_t> decades;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) {
      ++out.equal;
    } else if (!std::isfinite(x) || !std::isfinite(y)) {
      ++out.unordered;
    } else {
      ++decades[decade_of(std::abs(x - y))];
    }
  }
  if (decades.empty()) return out;
  const int last = decades.rbegin()->first, least = decades.begin()->first;
  const int first = std::max(least, last - kMostBins + 1);
  for (int k = first; k <= last; ++k)
    out.bins.push_back({k == first && least < first ? 0.0 : std::pow(10.0, k - 1), std::pow(10.0, k), 0});
  for (const auto& [k, count] : decades) out.bins[static_cast<std::size_t>(std::max(k, first) - first)].count += count;
  return out;
}

}  // namespace attn::run
