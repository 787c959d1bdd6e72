// The rules by which the value of a metric follows from sums over batches.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

namespace attn::keras {

/// The value is total/count for each number, and 0 where the count is 0.
struct MeanRule {
  bool root = false;  ///< the value is the square root of the quotient
};

/// The value is the total, for each number.
struct SumRule {};

/// The value is the area under a curve (keras.metrics.AUC). The total is (4, L, T): true and false positives, true and
/// false negatives of L labels at T ascending thresholds.
struct AreaRule {
  enum class Curve : std::uint8_t { roc, pr, pr_gain };
  enum class Heights : std::uint8_t { interpolation, minoring, majoring };
  Curve curve = Curve::roc;
  Heights heights = Heights::interpolation;
  std::int64_t labels = 1;
  std::vector<double> label_weights;  ///< one weight for each label; empty: the plain mean
};

/// The value is the largest value of one rate where another rate reaches a limit
/// (keras.metrics.SensitivityAtSpecificity, …). The total is (4, T), in the order of AreaRule.
struct BestRule {
  enum class Rate : std::uint8_t { recall, specificity, precision };
  Rate limited = Rate::specificity, best = Rate::recall;
  double limit = 0.0;
};

/// keras.metrics.FBetaScore. The total is (4, C): true positives, false positives, false negatives and weights of C
/// classes.
struct FBetaRule {
  enum class Average : std::uint8_t { none, micro, macro, weighted };
  Average average = Average::none;
  double beta = 1.0;
};

/// The value is the mean intersection over union of classes (keras.metrics.IoU). The total is the confusion matrix (C,
/// C).
struct OverlapRule {
  std::int64_t classes = 1;
  std::vector<std::int64_t> targets;
};

/// keras.metrics.R2Score. The total is (5, D): sums of targets, of their squares, of squared errors and of weights, and
/// the number of targets in all D columns.
struct R2Rule {
  enum class Average : std::uint8_t { none, uniform, variance_weighted };
  Average average = Average::uniform;
  std::int64_t regressors = 0;
};

using MetricRule = std::variant<MeanRule, SumRule, AreaRule, BestRule, FBetaRule, OverlapRule, R2Rule>;

}  // namespace attn::keras
