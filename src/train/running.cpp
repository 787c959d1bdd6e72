// The values of metrics from their accumulators.
#include <algorithm>
#include <cmath>

#include "attn/train/fit.h"

namespace attn::train {
namespace {

double ratio(double x, double y) { return y == 0.0 ? 0.0 : x / y; }

/// True and false positives, true and false negatives at the thresholds of keras.metrics.AUC.
struct Confusion {
  const std::vector<double>& sums;
  std::size_t thresholds = sums.size() / 4;

  [[nodiscard]] double tp(std::size_t i) const { return sums[i]; }
  [[nodiscard]] double fp(std::size_t i) const { return sums[thresholds + i]; }
  [[nodiscard]] double tn(std::size_t i) const { return sums[2 * thresholds + i]; }
  [[nodiscard]] double fn(std::size_t i) const { return sums[3 * thresholds + i]; }
};

/// Trapezoidal rule (keras/src/metrics/confusion_metrics.py).
double area_under_roc(const Confusion& c) {
  double area = 0.0;
  for (std::size_t i = 0; i + 1 < c.thresholds; ++i) {
    const auto recall = [&](std::size_t at) { return ratio(c.tp(at), c.tp(at) + c.fn(at)); };
    const auto false_share = [&](std::size_t at) { return ratio(c.fp(at), c.fp(at) + c.tn(at)); };
    area += (false_share(i) - false_share(i + 1)) * (recall(i) + recall(i + 1)) / 2.0;
  }
  return area;
}

/// Interpolation of Davis and Goadrich (2006), as in AUC.interpolate_pr_auc.
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

}  // namespace

double Running::value() const {
  switch (kind) {
    case keras::MetricKind::ratio:
      return ratio(total[0], count[0]);
    case keras::MetricKind::root:
      return std::sqrt(ratio(total[0], count[0]));
    case keras::MetricKind::sum:
      return total[0];
    case keras::MetricKind::roc:
      return area_under_roc({total});
    case keras::MetricKind::precision_recall:
      return area_under_precision_recall({total});
  }
  return 0.0;
}

std::vector<std::pair<std::string, double>> values_of(const RunningValues& training, const RunningValues& validation) {
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [name, value] : training) out.emplace_back(name, value.value());
  for (const auto& [name, value] : validation) out.emplace_back("val_" + name, value.value());
  return out;
}

}  // namespace attn::train
