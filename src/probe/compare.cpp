#include "attn/probe/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/memory.h"

namespace attn::probe {
namespace {

/// The rows (positions of all prompts, features) of a point.
struct Rows {
  std::int64_t width = 0;
  std::vector<double> values;
  Shape shape;

  [[nodiscard]] std::int64_t count() const { return width == 0 ? 0 : std::ssize(values) / width; }
  [[nodiscard]] static std::int64_t width_of(const Tensor& value) {
    return value.size() / (value.shape()[0] * (value.shape().rank() > 2 ? value.shape()[1] : 1));
  }
  void add(const Tensor& value) {
    shape = value.shape();
    width = width_of(value);
    for (std::int64_t i = 0; i < value.size(); ++i) values.push_back(value.at(i));
  }
};

/// Subtracts each feature's mean.
std::vector<double> centered(const Rows& rows) {
  std::vector<double> out = rows.values;
  const std::int64_t count = rows.count();
  for (std::int64_t j = 0; j < rows.width; ++j) {
    double mean = 0;
    for (std::int64_t i = 0; i < count; ++i) mean += out[static_cast<std::size_t>(i * rows.width + j)];
    mean /= static_cast<double>(count);
    for (std::int64_t i = 0; i < count; ++i) out[static_cast<std::size_t>(i * rows.width + j)] -= mean;
  }
  return out;
}

/// Returns X·Xᵀ, (rows, rows): with few rows cheaper than the product of features.
std::vector<double> gram(const std::vector<double>& x, std::int64_t rows, std::int64_t width) {
  std::vector<double> out(static_cast<std::size_t>(rows * rows));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      const auto a = x.begin() + i * width, b = x.begin() + j * width;
      const double sum = std::inner_product(a, a + width, b, 0.0);
      out[static_cast<std::size_t>(i * rows + j)] = out[static_cast<std::size_t>(j * rows + i)] = sum;
    }
  return out;
}

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

/// Returns ‖XᵀY‖² of two matrices with the same number of rows.
double squared_product(const std::vector<double>& x, std::int64_t columns, const std::vector<double>& y,
                       std::int64_t width, std::int64_t rows) {
  std::vector<double> sums(static_cast<std::size_t>(columns * width));
  for (std::int64_t k = 0; k < rows; ++k)
    for (std::int64_t i = 0; i < columns; ++i)
      for (std::int64_t j = 0; j < width; ++j)
        sums[static_cast<std::size_t>(i * width + j)] +=
            x[static_cast<std::size_t>(k * columns + i)] * y[static_cast<std::size_t>(k * width + j)];
  return dot(sums, sums);
}

/// Returns ‖BᵀA‖²/(‖AᵀA‖·‖BᵀB‖), with many rows by these products, otherwise by the Gram matrices of the rows.
double alignment(const Rows& a, const Rows& b) {
  const std::int64_t rows = a.count();
  if (rows > std::max(a.width, b.width)) {
    const std::vector<double> x = centered(a), y = centered(b);
    return squared_product(x, a.width, y, b.width, rows) /
           std::sqrt(squared_product(x, a.width, x, a.width, rows) * squared_product(y, b.width, y, b.width, rows));
  }
  const std::vector<double> of_a = gram(centered(a), rows, a.width), of_b = gram(centered(b), rows, b.width);
  return dot(of_a, of_b) / std::sqrt(dot(of_a, of_a) * dot(of_b, of_b));
}

ComparedPoint compared(const Rows& a, const Rows& b) {
  ComparedPoint out;
  out.shape_a = a.shape;
  out.shape_b = b.shape;
  out.cka = alignment(a, b);
  if (a.values.size() != b.values.size()) {
    out.max_abs = out.relative = out.cosine = std::numeric_limits<double>::quiet_NaN();
    return out;
  }
  double difference = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double change = b.values[i] - a.values[i];
    out.max_abs = std::max(out.max_abs, std::abs(change));
    difference += change * change;
  }
  const double norm_a = dot(a.values, a.values), norm_b = dot(b.values, b.values);
  out.relative = std::sqrt(difference / norm_a);
  out.cosine = dot(a.values, b.values) / std::sqrt(norm_a * norm_b);
  return out;
}

std::vector<Rows> rows_of(const Subject& subject, std::span<const Prompt> prompts,
                          const std::vector<std::string>& points) {
  std::vector<Rows> out(points.size());
  for (const Prompt& prompt : prompts) {
    const Lowered lowered = subject.lower(1, prompt);
    std::vector<graph::ValueId> ids;
    for (const std::string& name : points) ids.push_back(lowered.points.find(name).value);
    const Values values = subject.run(lowered, prompt, ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Tensor& value = values.at(ids[i]);
      run::require_memory("the compared values take", static_cast<UInt128>(value.size()) * sizeof(double),
                          open::memory_limit(subject.execution().memory_limit),
                          [] { return "fewer points or prompts take less"; });
      if (const std::int64_t width = out[i].width; width != 0 && Rows::width_of(value) != width)
        throw bad_usage("{} has rows of {} values for one prompt and of {} for another: give prompts of equal length",
                        points[i], width, Rows::width_of(value));
      out[i].add(value);
    }
  }
  return out;
}

}  // namespace

std::vector<ComparedPoint> compare(const Subject& a, const Subject& b, std::span<const Prompt> prompts,
                                   const std::string& points) {
  std::vector<std::string> names_a, names_b;
  const Points of_a = a.lower(1, prompts.front()).points, of_b = b.lower(1, prompts.front()).points;
  for (const std::string& part : split(points, ',')) {
    const std::vector<Point> first = of_a.select(part), second = of_b.select(part);
    for (std::size_t i = 0; i < first.size(); ++i) {
      // The last layers are paired with each other.
      const std::size_t j = first.size() < 2 ? second.size() - 1 : i * (second.size() - 1) / (first.size() - 1);
      names_a.push_back(first[i].name);
      names_b.push_back(second[j].name);
    }
  }
  const std::vector<Rows> rows_a = rows_of(a, prompts, names_a), rows_b = rows_of(b, prompts, names_b);
  std::vector<ComparedPoint> out;
  for (std::size_t i = 0; i < rows_a.size(); ++i) {
    if (rows_a[i].count() != rows_b[i].count())
      throw bad_usage("{} has the shape {}, but {} of the other model has {}: compare points with equally many rows",
                      names_a[i], rows_a[i].shape.str(), names_b[i], rows_b[i].shape.str());
    out.push_back(compared(rows_a[i], rows_b[i]));
    out.back().a = names_a[i];
    out.back().b = names_b[i];
  }
  return out;
}

}  // namespace attn::probe
