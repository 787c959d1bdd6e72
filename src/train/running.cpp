// The values of metrics from their accumulators, after keras/src/metrics.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "attn/base/error.h"
#include "attn/train/fit.h"

namespace attn::train {
namespace {

using keras::AreaRule;
using keras::BestRule;
using keras::FBetaRule;
using keras::MetricRule;
using keras::R2Rule;
using Numbers = std::vector<double>;

/// keras.backend.epsilon()
constexpr double kEpsilon = 1e-7;

double ratio(double x, double y) { return y == 0.0 ? 0.0 : x / y; }

double mean_of(const Numbers& x) { return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size()); }

void expect_sums(bool fits) {
  if (!fits) throw bad_input("the stored metric state does not match the model's metrics: train without `resume`");
}

/// The part of the accumulators (4, labels, thresholds) that belongs to one label.
struct Confusion {
  const Numbers& sums;
  std::size_t labels, label;
  std::size_t thresholds = sums.size() / 4 / labels;

  [[nodiscard]] double tp(std::size_t i) const { return of(0, i); }
  [[nodiscard]] double fp(std::size_t i) const { return of(1, i); }
  [[nodiscard]] double tn(std::size_t i) const { return of(2, i); }
  [[nodiscard]] double fn(std::size_t i) const { return of(3, i); }
  [[nodiscard]] double recall(std::size_t i) const { return ratio(tp(i), tp(i) + fn(i)); }
  [[nodiscard]] double precision(std::size_t i) const { return ratio(tp(i), tp(i) + fp(i)); }
  [[nodiscard]] double specificity(std::size_t i) const { return ratio(tn(i), tn(i) + fp(i)); }

 private:
  [[nodiscard]] double of(std::size_t kind, std::size_t i) const {
    return sums[(kind * labels + label) * thresholds + i];
  }
};

struct CurvePoint {
  double x = 0.0, y = 0.0;
};

CurvePoint point_of(const Confusion& c, std::size_t i, AreaRule::Curve curve) {
  if (curve == AreaRule::Curve::roc) return {ratio(c.fp(i), c.fp(i) + c.tn(i)), c.recall(i)};
  if (curve == AreaRule::Curve::pr) return {c.recall(i), c.precision(i)};
  if (c.tp(i) == 0.0) return {0.0, 1.0};
  const double scale = ratio(c.tp(i) + c.fn(i), c.tn(i) + c.fp(i));
  return {std::max(1.0 - scale * ratio(c.fn(i), c.tp(i)), 0.0), 1.0 - scale * ratio(c.fp(i), c.tp(i))};
}

/// Returns the area under the curve as a Riemann sum.
double area_under(const Confusion& c, const AreaRule& rule) {
  double area = 0.0;
  for (std::size_t i = 0; i + 1 < c.thresholds; ++i) {
    const CurvePoint at = point_of(c, i, rule.curve), next = point_of(c, i + 1, rule.curve);
    double height = (at.y + next.y) / 2.0;
    if (rule.heights == AreaRule::Heights::minoring) height = std::min(at.y, next.y);
    if (rule.heights == AreaRule::Heights::majoring) height = std::max(at.y, next.y);
    area += (at.x - next.x) * height;
  }
  return area;
}

/// Returns the area by the interpolation of Davis and Goadrich (2006), after AUC.interpolate_pr_auc.
double area_under_precision_recall(const Confusion& c) {
  double area = 0.0;
  for (std::size_t i = 0; i + 1 < c.thresholds; ++i) {
    const double more = c.tp(i) - c.tp(i + 1), all = c.tp(i) + c.fp(i), fewer = c.tp(i + 1) + c.fp(i + 1);
    const double slope = ratio(more, std::max(all - fewer, 0.0));
    const double intercept = c.tp(i + 1) - slope * fewer;
    const double growth = all > 0.0 && fewer > 0.0 ? ratio(all, std::max(fewer, 0.0)) : 1.0;
    area += ratio(slope * (more + intercept * std::log(growth)), std::max(c.tp(i + 1) + c.fn(i + 1), 0.0));
  }
  return area;
}

Numbers values_by(const keras::MeanRule& rule, const Running& sums) {
  expect_sums(sums.total.size() == sums.count.size());
  Numbers out;
  for (std::size_t i = 0; i < sums.total.size(); ++i) {
    const double mean = ratio(sums.total[i], sums.count[i]);
    out.push_back(rule.root ? std::sqrt(mean) : mean);
  }
  return out;
}

Numbers values_by(const keras::SumRule&, const Running& sums) { return sums.total; }

Numbers values_by(const AreaRule& rule, const Running& sums) {
  const auto labels = static_cast<std::size_t>(rule.labels);
  expect_sums(labels > 0 && !sums.total.empty() && sums.total.size() % (4 * labels) == 0);
  const bool interpolates = rule.curve == AreaRule::Curve::pr && rule.heights == AreaRule::Heights::interpolation;
  double total = 0.0, weight = 0.0;
  for (std::size_t label = 0; label < labels; ++label) {
    const Confusion confusion{sums.total, labels, label};
    const double area = interpolates ? area_under_precision_recall(confusion) : area_under(confusion, rule);
    const double counts = labels > 1 && rule.label_weights.size() == labels ? rule.label_weights[label] : 1.0;
    total += area * counts;
    weight += counts;
  }
  return {ratio(total, weight)};
}

Numbers values_by(const BestRule& rule, const Running& sums) {
  expect_sums(!sums.total.empty() && sums.total.size() % 4 == 0);
  const Confusion confusion{sums.total, 1, 0};
  const auto rate = [&](BestRule::Rate which, std::size_t i) {
    if (which == BestRule::Rate::recall) return confusion.recall(i);
    return which == BestRule::Rate::precision ? confusion.precision(i) : confusion.specificity(i);
  };
  double best = 0.0;
  for (std::size_t i = 0; i < confusion.thresholds; ++i)
    if (rate(rule.limited, i) >= rule.limit) best = std::max(best, rate(rule.best, i));
  return {best};
}

Numbers values_by(const FBetaRule& rule, const Running& sums) {
  expect_sums(!sums.total.empty() && sums.total.size() % 4 == 0);
  const std::size_t classes = sums.total.size() / 4;
  const double square = rule.beta * rule.beta;
  Numbers scores, weights;
  for (std::size_t i = 0; i < classes; ++i) {
    const double tp = sums.total[i], fp = sums.total[classes + i], fn = sums.total[2 * classes + i];
    const double precision = tp / (tp + fp + kEpsilon), recall = tp / (tp + fn + kEpsilon);
    scores.push_back(precision * recall / (square * precision + recall + kEpsilon) * (1.0 + square));
    weights.push_back(sums.total[3 * classes + i]);
  }
  if (rule.average == FBetaRule::Average::none) return scores;
  if (rule.average != FBetaRule::Average::weighted) return {mean_of(scores)};
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0) + kEpsilon;
  double out = 0.0;
  for (std::size_t i = 0; i < classes; ++i) out += scores[i] * weights[i] / all;
  return {out};
}

Numbers values_by(const keras::OverlapRule& rule, const Running& sums) {
  const auto classes = static_cast<std::size_t>(rule.classes);
  expect_sums(sums.total.size() == classes * classes);
  // Computed once for each class, although the rule may list a class several times.
  std::map<std::int64_t, std::optional<double>> overlaps;
  const auto overlap_of = [&](std::int64_t target) -> std::optional<double> {
    const auto at = static_cast<std::size_t>(target);
    double all = -sums.total[at * classes + at];
    for (std::size_t i = 0; i < classes; ++i) all += sums.total[i * classes + at] + sums.total[at * classes + i];
    if (!(all > 1e-9)) return std::nullopt;
    return sums.total[at * classes + at] / (all + kEpsilon);
  };
  double total = 0.0, valid = 0.0;
  for (const std::int64_t target : rule.targets) {
    const auto [found, is_new] = overlaps.try_emplace(target);
    if (is_new) found->second = overlap_of(target);
    if (!found->second) continue;
    total += *found->second;
    valid += 1.0;
  }
  return {total / (valid + kEpsilon)};
}

Numbers values_by(const R2Rule& rule, const Running& sums) {
  expect_sums(!sums.total.empty() && sums.total.size() % 5 == 0);
  const std::size_t columns = sums.total.size() / 5;
  const auto of = [&](std::size_t row, std::size_t column) { return sums.total[row * columns + column]; };
  Numbers scores, totals;
  for (std::size_t i = 0; i < columns; ++i) {
    const double total = of(1, i) - of(0, i) * of(0, i) / of(3, i), score = 1.0 - of(2, i) / total;
    scores.push_back(std::isinf(score) ? 0.0 : score);
    totals.push_back(total);
  }
  if (rule.average == R2Rule::Average::uniform) scores = {mean_of(scores)};
  if (rule.average == R2Rule::Average::variance_weighted) {
    const double all = std::accumulate(totals.begin(), totals.end(), 0.0);
    scores = {std::inner_product(totals.begin(), totals.end(), scores.begin(), 0.0) / all};
  }
  const double samples = of(4, 0), regressors = static_cast<double>(rule.regressors);
  if (regressors == 0.0 || regressors >= samples - 1.0) return scores;  // Keras falls back to the plain score
  for (double& score : scores) score = 1.0 - (1.0 - score) * (samples - 1.0) / (samples - regressors - 1.0);
  return scores;
}

}  // namespace

std::vector<double> Running::values() const {
  return std::visit([&](const auto& by) { return values_by(by, *this); }, rule);
}

double Running::value() const { return mean_of(values()); }

Logs logs_of(const RunningValues& training, const RunningValues& validation) {
  Logs out;
  for (const auto& [name, value] : training) out.emplace_back(name, value.values());
  for (const auto& [name, value] : validation) out.emplace_back("val_" + name, value.values());
  return out;
}

std::vector<std::pair<std::string, double>> values_of(const Logs& logs) {
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [name, numbers] : logs) out.emplace_back(name, mean_of(numbers));
  return out;
}

}  // namespace attn::train
