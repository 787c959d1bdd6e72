// Means of losses, errors and correlations, after
// keras/src/metrics/{regression,probabilistic,hinge,correlation}_metrics.py.
#include <algorithm>
#include <vector>

#include "classes/ops/expression.h"
#include "training/mean_metric.h"

namespace attn::keras {
namespace {

using graph::ReduceFn;
using graph::ValueId;

MetricPtr of_loss(std::string_view loss, double factor = 1.0) { return metric_of_function(*find_loss(loss), factor); }

/// The root of the mean of all squared errors. In Keras, the mask of the predictions has no effect on them.
class RootMeanSquaredError : public MeanMetric {
 public:
  bool up() const override { return false; }

 protected:
  ValueId values(LossCall& call, const MetricCall&) const override {
    match_targets(call);
    return call.unary(graph::UnaryFn::square, call.subtract(call.y_pred, call.y_true));
  }
  bool takes_mask() const override { return false; }
  MeanRule rule() const override { return {.root = true}; }
};

/// A correlation along `axis`: one value for each line of targets and predictions.
class Correlation : public MeanMetric {
 public:
  void fields(Fields& f) override { f("axis", axis_); }

 protected:
  ValueId values(LossCall& call, const MetricCall&) const override {
    match_targets(call);
    std::vector<int> axes;
    const auto* one = std::get_if<std::int64_t>(&axis_);
    for (const std::int64_t at : one != nullptr ? std::vector{*one} : std::get<std::vector<std::int64_t>>(axis_)) {
      const auto found = normalize_axis(at, call.rank());
      if (!found) throw bad_input("axis {} is outside of predictions {}", at, call.b.shape(call.y_pred).str());
      axes.push_back(*found);
    }
    std::ranges::sort(axes);
    if (axes.empty() || std::ranges::adjacent_find(axes) != axes.end())
      throw bad_input("expected distinct axes of predictions {}", call.b.shape(call.y_pred).str());
    return of({call.b, call.y_true}, {call.b, call.y_pred}, axes);
  }
  static Expression mean(const Expression& x, const std::vector<int>& axes, bool keepdims = true) {
    return x.reduced({ReduceFn::mean, axes, keepdims});
  }
  static Expression variance(const Expression& x, const std::vector<int>& axes) {
    return mean(square(x - mean(x, axes)), axes);
  }
  [[nodiscard]] virtual Expression of(const Expression& truth, const Expression& pred,
                                      const std::vector<int>& axes) const = 0;

 private:
  Axes axis_ = std::int64_t{-1};
};

class PearsonCorrelation : public Correlation {
 protected:
  Expression of(const Expression& truth, const Expression& pred, const std::vector<int>& axes) const override {
    const auto normal = [&](const Expression& x) {
      const Expression centered = x - mean(x, axes);
      return centered / sqrt(variance(centered, axes));
    };
    return mean(normal(truth) * normal(pred), axes, false);
  }
};

class ConcordanceCorrelation : public Correlation {
 protected:
  Expression of(const Expression& truth, const Expression& pred, const std::vector<int>& axes) const override {
    const Expression truth_mean = mean(truth, axes), pred_mean = mean(pred, axes);
    const Expression variances = variance(truth - truth_mean, axes) + variance(pred - pred_mean, axes);
    // Keras subtracts the mean of the predictions from both.
    const Expression covariance = (truth - pred_mean) * (pred - pred_mean);
    const Expression norm = variances + square(truth_mean - pred_mean) + kLossEpsilon;
    return mean(covariance * 2.0 / norm, axes, false);
  }
};

constexpr MetricInfo kMeanMetrics[] = {
    {"MeanSquaredError", "mse MSE", "", [] { return of_loss("MeanSquaredError"); }},
    {"MeanAbsoluteError", "mae MAE", "", [] { return of_loss("MeanAbsoluteError"); }},
    {"MeanAbsolutePercentageError", "mape MAPE", "", [] { return of_loss("MeanAbsolutePercentageError"); }},
    {"MeanSquaredLogarithmicError", "msle MSLE", "", [] { return of_loss("MeanSquaredLogarithmicError"); }},
    {"RootMeanSquaredError", "", "", make_metric<RootMeanSquaredError>},
    // The loss is smallest if two directions agree, and the metric is largest.
    {"CosineSimilarity", "", "", [] { return of_loss("CosineSimilarity", -1.0); }},
    {"LogCoshError", "", "", [] { return of_loss("LogCosh"); }, "", "logcosh"},
    {"KLDivergence", "", "", [] { return of_loss("KLDivergence"); }},
    {"Poisson", "", "", [] { return of_loss("Poisson"); }},
    {"Hinge", "", "", [] { return of_loss("Hinge"); }},
    {"SquaredHinge", "", "", [] { return of_loss("SquaredHinge"); }},
    {"CategoricalHinge", "", "", [] { return of_loss("CategoricalHinge"); }},
    {"BinaryCrossentropy", "bce BCE", "", [] { return of_loss("BinaryCrossentropy"); }},
    {"CategoricalCrossentropy", "", "", [] { return of_loss("CategoricalCrossentropy"); }},
    {"SparseCategoricalCrossentropy", "", "", [] { return of_loss("SparseCategoricalCrossentropy"); }},
    {"PearsonCorrelation", "", "pearson_correlation", make_metric<PearsonCorrelation>},
    {"ConcordanceCorrelation", "", "concordance_correlation", make_metric<ConcordanceCorrelation>},
};

}  // namespace

std::span<const MetricInfo> mean_metrics() { return kMeanMetrics; }

}  // namespace attn::keras
