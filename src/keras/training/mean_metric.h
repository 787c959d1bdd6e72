// Metrics that are the mean of one value for each prediction (keras/src/metrics/reduction_metrics.py).
#pragma once

#include <optional>

#include "training/loss.h"
#include "training/metric_class.h"

namespace attn::keras {

class MeanMetric : public Metric {
 public:
  [[nodiscard]] MetricSums sums(const MetricCall& call) const override;

 protected:
  /// Returns the values to average. `call` has the targets with the dtype of the data; its mask is replaced by the mask
  /// of the values.
  [[nodiscard]] virtual graph::ValueId values(LossCall& call, const MetricCall& given) const = 0;
  /// Returns whether the mask of the predictions weights the values, as in MeanMetricWrapper.
  [[nodiscard]] virtual bool takes_mask() const { return true; }
  [[nodiscard]] virtual MeanRule rule() const { return {}; }
};

/// Makes the metric that averages `factor` times the function of a loss. Its fields are those of the loss.
[[nodiscard]] MetricPtr metric_of_function(const LossInfo& loss, double factor = 1.0);
/// Makes the metric of a loss object: the mean over batches of the reduced loss, or of all its values if its reduction
/// is "none".
[[nodiscard]] MetricPtr metric_of_loss(LossPtr loss);

/// Casts `y_true` to the dtype of `y_pred`, and matches their ranks if one has a last axis of size 1.
void match_targets(LossCall& call);

}  // namespace attn::keras
