#include "compare.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace attn::test {
namespace {

bool agree(double expected, double got, double tolerance) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  if (expected == got) return true;
  return std::isfinite(expected) && std::isfinite(got) && std::abs(expected - got) <= tolerance;
}

std::string coordinates(std::int64_t i, const Shape& shape) {
  std::vector<Dim> result(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    result[static_cast<std::size_t>(axis)] = i % shape[axis];
    i /= shape[axis];
  }
  return Shape(std::move(result)).str();
}

}  // namespace

std::optional<std::string> difference(const Tensor& expected, const Tensor& got, std::span<const double> tolerance) {
  if (expected.dtype() != got.dtype() || expected.shape() != got.shape()) {
    return fmt::format("expected {} {}, got {} {}", name_of(expected.dtype()), expected.shape().str(),
                       name_of(got.dtype()), got.shape().str());
  }
  const std::int64_t width = bytes_of(expected.dtype());
  std::int64_t bad = 0, first = -1;
  double largest = 0.0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double e = expected.at(i), g = got.at(i);
    const bool same = is_integer(expected.dtype()) ? std::memcmp(expected.data() + i * width, got.data() + i * width,
                                                                 static_cast<std::size_t>(width)) == 0
                                                   : agree(e, g, tolerance[static_cast<std::size_t>(i)]);
    if (same) continue;
    ++bad;
    if (first < 0) first = i;
    largest = std::max(largest, std::isnan(e - g) ? INFINITY : std::abs(e - g));
  }
  if (bad == 0) return std::nullopt;
  return fmt::format(
      "{} of {} elements differ, first {}: expected {:.9g}, got {:.9g}, tolerance {:.3g}; max abs {:.3g}", bad,
      expected.size(), coordinates(first, expected.shape()), expected.at(first), got.at(first),
      tolerance[static_cast<std::size_t>(first)], largest);
}

}  // namespace attn::test
