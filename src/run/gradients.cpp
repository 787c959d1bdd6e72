#include "attn/run/gradients.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace attn::run {

std::string_view name_of(GradientMark mark) {
  switch (mark) {
    case GradientMark::none:
      return "";
    case GradientMark::no_path:
      return "no path";
    case GradientMark::not_finite:
      return "not finite";
    case GradientMark::zero:
      return "zero";
    case GradientMark::undetermined:
      return "undetermined";
    case GradientMark::vanishing:
      return "vanishing";
    case GradientMark::exploding:
      return "exploding";
  }
  return "";
}

double GradientRow::rms() const { return elements == 0 ? 0.0 : norm / std::sqrt(static_cast<double>(elements)); }

namespace {

double norm_of(const Tensor& x) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < x.size(); ++i)
    if (const double number = x.at(i); std::isfinite(number)) sum += number * number;
  return std::sqrt(sum);
}

}  // namespace

GradientRow describe_gradient(const std::string& name, const Tensor* gradient, const Tensor& value) {
  GradientRow row;
  row.name = name;
  row.shape = value.shape();
  row.elements = value.size();
  row.value_norm = norm_of(value);
  if (gradient == nullptr) {
    row.zeros = row.elements;
    return row;
  }
  row.connected = 1;
  row.norm = norm_of(*gradient);
  for (std::int64_t i = 0; i < gradient->size(); ++i) {
    const double number = gradient->at(i);
    row.zeros += number == 0.0 ? 1 : 0;
    if (std::isfinite(number)) {
      row.largest = std::max(row.largest, std::abs(number));
    } else {
      ++row.non_finite;
    }
  }
  return row;
}

std::vector<GradientRow> grouped(const std::vector<GradientRow>& rows,
                                 const std::function<std::string(const std::string&)>& key) {
  std::vector<GradientRow> out;
  std::map<std::string, std::size_t> places;
  for (const GradientRow& row : rows) {
    const auto [place, is_new] = places.try_emplace(key(row.name), out.size());
    if (is_new) {
      out.push_back(row);
      out.back().name = place->first;
      continue;
    }
    GradientRow& sum = out[place->second];
    sum.arrays += row.arrays;
    sum.connected += row.connected;
    sum.elements += row.elements;
    sum.zeros += row.zeros;
    sum.non_finite += row.non_finite;
    sum.norm = std::hypot(sum.norm, row.norm);
    sum.largest = std::max(sum.largest, row.largest);
    sum.value_norm = std::hypot(sum.value_norm, row.value_norm);
    if (row.update_norm) sum.update_norm = std::hypot(sum.update_norm.value_or(0.0), *row.update_norm);
  }
  return out;
}

void mark_gradients(std::vector<GradientRow>& rows, double rounding) {
  constexpr double kVanishing = 1e-3, kExploding = 1e3;
  double largest = 0.0, largest_rms = 0.0, last_rms = 0.0;
  for (const GradientRow& row : rows) {
    largest = std::max(largest, row.largest);
    largest_rms = std::max(largest_rms, row.rms());
    if (row.largest > 0.0) last_rms = row.rms();
  }
  const auto mark_of = [&](const GradientRow& row) {
    if (row.connected == 0) return GradientMark::no_path;
    if (row.non_finite > 0) return GradientMark::not_finite;
    if (row.largest == 0.0) return GradientMark::zero;
    if (row.largest < rounding * largest) return GradientMark::undetermined;
    if (row.rms() < kVanishing * largest_rms) return GradientMark::vanishing;
    return row.rms() > kExploding * last_rms ? GradientMark::exploding : GradientMark::none;
  };
  for (GradientRow& row : rows) row.mark = mark_of(row);
}

}  // namespace attn::run
