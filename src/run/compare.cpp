#include "attn/run/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

}  // namespace

OutputComparison compare(const std::string& name, const Tensor& expected, const Tensor& got,
                         const Tolerance& tolerance) {
  OutputComparison out;
  out.name = name;
  if (expected.shape() != got.shape()) {
    out.problem = fmt::format("expected shape {}, got {}", expected.shape().str(), got.shape().str());
    return out;
  }
  out.elements = got.size();
  double worst = -1.0;  // how far beyond its tolerance; infinite for a NaN
  std::int64_t worst_at = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double a = expected.at(i), b = got.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double error = std::abs(b - a);
    const bool unordered = std::isnan(error);
    const double beyond =
        unordered ? std::numeric_limits<double>::infinity() : error - (tolerance.atol + tolerance.rtol * std::abs(a));
    if (unordered || beyond > 0.0 || std::isinf(error)) ++out.mismatches;
    if (unordered) {
      out.max_abs_error = std::numeric_limits<double>::quiet_NaN();
    } else if (!std::isnan(out.max_abs_error)) {
      out.max_abs_error = std::max(out.max_abs_error, error);
    }
    if (worst < 0.0 || beyond > worst) {
      worst = std::max(beyond, 0.0);
      worst_at = i;
    }
  }
  out.pass = out.mismatches == 0;
  if (got.size() > 0) {
    out.worst_index = coordinates(worst_at, got.shape());
    out.expected = expected.at(worst_at);
    out.got = got.at(worst_at);
  }
  return out;
}

std::vector<OutputComparison> compare(const std::vector<NamedTensor>& expected, const std::vector<NamedTensor>& got,
                                      const Tolerance& tolerance) {
  const auto find = [](const std::vector<NamedTensor>& list, const std::string& name) {
    return std::find_if(list.begin(), list.end(), [&](const NamedTensor& item) { return item.name == name; });
  };
  std::vector<OutputComparison> out;
  // A single array on both sides is compared whatever a .npy file is called.
  if (expected.size() == 1 && got.size() == 1)
    return {compare(got[0].name, expected[0].tensor, got[0].tensor, tolerance)};
  for (const NamedTensor& item : got) {
    if (const auto match = find(expected, item.name); match != expected.end()) {
      out.push_back(compare(item.name, match->tensor, item.tensor, tolerance));
    } else {
      out.push_back({});
      out.back().name = item.name;
      out.back().problem = "the expected file has no array of this name";
    }
  }
  for (const NamedTensor& item : expected) {
    if (find(got, item.name) != got.end()) continue;
    out.push_back({});
    out.back().name = item.name;
    out.back().problem = "the model gives no output of this name";
  }
  return out;
}

}  // namespace attn::run
