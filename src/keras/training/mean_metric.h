// Metrics that are the mean of one number for each prediction (keras/src/metrics/reduction_metrics.py).
#pragma once

#include <optional>

#include "training/loss.h"
#include "training/metric_class.h"

namespace attn::keras {

class MeanMetric : public Metric {
 public:
  [[nodiscard]] MetricSums sums(const MetricCall& call) const override;

 protected:
  /// The numbers whose mean it is. `call` has the targets as the data has them; its mask becomes that of the numbers.
  [[nodiscard]] virtual graph::ValueId values(LossCall& call, const MetricCall& given) const = 0;
  /// Whether the mask of the predictions weighs the numbers, as in MeanMetricWrapper.
  [[nodiscard]] virtual bool takes_mask() const { return true; }
  [[nodiscard]] virtual MeanRule rule() const { return {}; }
};

/// The metric of a loss's function, by the class of the loss; of `factor` times its numbers. Its fields are the loss's.
[[nodiscard]] MetricPtr metric_of_function(const LossInfo& loss, double factor = 1.0);
/// The metric of a loss object: the mean over batches of one number for each, or of all where its reduction is "none".
[[nodiscard]] MetricPtr metric_of_loss(LossPtr loss);

/// `y_true` in the dtype of `y_pred`, with equal ranks where one side has a last axis of 1.
void match_targets(LossCall& call);

}  // namespace attn::keras
