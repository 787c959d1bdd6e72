#include "attn/run/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "attn/base/text.h"

namespace attn::run {
namespace {

std::vector<std::int64_t> coordinates(std::int64_t flat, const Shape& shape) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    out[static_cast<std::size_t>(axis)] = flat % shape[axis];
    flat /= shape[axis];
  }
  return out;
}

/// Rounds up to three digits, with a margin so that a later rounding of the tolerance cannot fail it.
double rounded_up(double value) {
  if (value <= 0.0 || std::isinf(value)) return std::max(value, 0.0);
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 2);
  return std::strtod(fmt::format("{:.2e}", std::ceil(value * (1 + 1e-12) / unit) * unit).c_str(), nullptr);
}

}  // namespace

OutputComparison compare(const std::string& name, const Tensor& expected, const Tensor& got,
                         const Tolerance& tolerance) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  OutputComparison out;
  out.name = name;
  if (expected.shape() != got.shape()) {
    out.problem = fmt::format("expected shape {}, got {}", expected.shape().str(), got.shape().str());
    return out;
  }
  out.elements = got.size();
  double worst = -kInfinity;  // the largest excess over the tolerance; infinite for a NaN
  std::int64_t worst_at = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double a = expected.at(i), b = got.at(i);
    if (a == b) continue;
    if (std::isnan(a) && std::isnan(b)) {
      ++out.nan_pairs;
      continue;
    }
    const double error = std::abs(b - a);
    double beyond = error - (tolerance.atol + tolerance.rtol * std::abs(a));
    if (std::isfinite(a) && std::isfinite(b)) {
      if (beyond > 0.0) ++out.mismatches;
      const double past = error - tolerance.atol;
      out.needed.atol = std::max(out.needed.atol, error - tolerance.rtol * std::abs(a));
      if (past > 0.0) out.needed.rtol = std::max(out.needed.rtol, a == 0.0 ? kInfinity : past / std::abs(a));
    } else {
      ++out.mismatches;
      ++out.unordered;
      out.needed = {kInfinity, kInfinity};
      beyond = std::isnan(error) ? kInfinity : std::numeric_limits<double>::max();
    }
    if (std::isnan(error)) {
      out.max_abs_error = error;
    } else if (!std::isnan(out.max_abs_error)) {
      out.max_abs_error = std::max(out.max_abs_error, error);
    }
    if (beyond > worst) {
      worst = beyond;
      worst_at = i;
    }
  }
  out.needed = {rounded_up(out.needed.rtol), rounded_up(out.needed.atol)};
  out.pass = out.mismatches == 0;
  if (got.size() > 0) {
    out.worst_index = coordinates(worst_at, got.shape());
    out.expected = expected.at(worst_at);
    out.got = got.at(worst_at);
  }
  return out;
}

namespace {

/// Compares each name that either side has. If both sides have a single array, the two are compared whatever their
/// names: a .npy file has none.
template <typename Array, typename Compare>
std::vector<OutputComparison> compare_by_name(const std::vector<Array>& expected, const std::vector<Array>& got,
                                              const Compare& of) {
  std::vector<OutputComparison> out;
  const auto lacks = [&](const std::string& name, const char* problem) {
    out.push_back({});
    out.back().name = name;
    out.back().problem = problem;
  };
  if (expected.size() == 1 && got.size() == 1) return {of(got[0].name, expected[0], got[0])};
  for (const Array& item : got) {
    if (const auto match = std::ranges::find(expected, item.name, &Array::name); match != expected.end()) {
      out.push_back(of(item.name, *match, item));
    } else {
      lacks(item.name, "the expected file has no array of this name");
    }
  }
  for (const Array& item : expected)
    if (std::ranges::find(got, item.name, &Array::name) == got.end())
      lacks(item.name, "the model has no output of this name");
  return out;
}

OutputComparison compare_strings(const std::string& name, const TextArray& expected, const TextArray& got) {
  OutputComparison out;
  out.name = name;
  if (expected.shape != got.shape) {
    out.problem = fmt::format("expected shape {}, got {}", expected.shape.str(), got.shape.str());
    return out;
  }
  out.elements = static_cast<std::int64_t>(got.values.size());
  std::size_t first = 0;
  for (std::size_t i = got.values.size(); i-- > 0;) {
    if (expected.values[i] == got.values[i]) continue;
    ++out.mismatches;
    first = i;
  }
  out.pass = out.mismatches == 0;
  if (out.pass) return out;
  out.worst_index = coordinates(static_cast<std::int64_t>(first), got.shape);
  out.problem = fmt::format("{} of {} strings differ, the first at [{}]: expected '{}', got '{}'",
                            with_commas(out.mismatches), with_commas(out.elements), fmt::join(out.worst_index, ", "),
                            shortened(expected.values[first]), shortened(got.values[first]));
  return out;
}

}  // namespace

std::vector<OutputComparison> compare(const std::vector<NamedTensor>& expected, const std::vector<NamedTensor>& got,
                                      const Tolerance& tolerance) {
  return compare_by_name(expected, got, [&](const std::string& name, const NamedTensor& a, const NamedTensor& b) {
    return compare(name, a.tensor, b.tensor, tolerance);
  });
}

std::vector<OutputComparison> compare_texts(const std::vector<NamedTexts>& expected,
                                            const std::vector<NamedTexts>& got) {
  return compare_by_name(expected, got, [](const std::string& name, const NamedTexts& a, const NamedTexts& b) {
    return compare_strings(name, a.texts, b.texts);
  });
}

Similarity similarity(const Tensor& a, const Tensor& b) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  double aa = 0, bb = 0, ab = 0, difference = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    aa += x * x;
    bb += y * y;
    ab += x * y;
    difference += (y - x) * (y - x);
  }
  Similarity out{};
  if (difference > 0) out.relative = aa > 0 ? std::sqrt(difference / aa) : kNaN;
  out.cosine = aa > 0 && bb > 0 ? std::clamp(ab / (std::sqrt(aa) * std::sqrt(bb)), -1.0, 1.0) : kNaN;
  return out;
}

}  // namespace attn::run
