// A metric of Keras: its fields, and the sums over targets and predictions that determine it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attn/graph/graph.h"
#include "attn/keras/metric_rule.h"
#include "config/fields.h"

namespace attn::keras {

/// The values of an output that a metric reads. Keras passes sample weights only to weighted metrics, and only metrics
/// that are means use the mask of the predictions.
struct MetricCall {
  graph::Builder& b;
  graph::ValueId y_true;  ///< with the dtype of the data
  graph::ValueId y_pred;
  std::optional<graph::ValueId> logits;  ///< the input of the softmax or sigmoid that computed y_pred, if one did
  std::optional<graph::ValueId> mask, weights;
};

struct MetricSums {
  graph::ValueId total = graph::kNone, count = graph::kNone;
  MetricRule rule;
  std::int64_t numbers = 1;  ///< how many numbers the metric's value has
};

class Metric {
 public:
  virtual ~Metric() = default;

  std::string name;

  /// Reads the class's own fields.
  virtual void fields(Fields&) {}
  /// Adds the nodes that compute the metric's sums. Throws Error (bad_input) for shapes that the metric does not
  /// support.
  [[nodiscard]] virtual MetricSums sums(const MetricCall& call) const = 0;
  /// Returns whether a larger value is better.
  [[nodiscard]] virtual bool up() const { return true; }
};

using MetricPtr = std::unique_ptr<Metric>;

/// The record of a class of metrics.
struct MetricInfo {
  std::string_view name;       ///< "MeanSquaredError"
  std::string_view shorts;     ///< further names for compile(): "mse MSE"
  std::string_view functions;  ///< names of the function whose mean the metric is: "binary_accuracy"
  MetricPtr (*make)();
  std::string_view needs = {};         ///< fields without a default
  std::string_view default_name = {};  ///< the default name of an object, if it is not the class in snake case
};

template <typename T>
[[nodiscard]] MetricPtr make_metric() {
  return std::make_unique<T>();
}

/// The records, in mean_metrics.cpp, accuracy_metrics.cpp, confusion_metrics.cpp, curve_metrics.cpp and
/// score_metrics.cpp.
[[nodiscard]] std::span<const MetricInfo> mean_metrics();
[[nodiscard]] std::span<const MetricInfo> accuracy_metrics();
[[nodiscard]] std::span<const MetricInfo> confusion_metrics();
[[nodiscard]] std::span<const MetricInfo> curve_metrics();
[[nodiscard]] std::span<const MetricInfo> score_metrics();

}  // namespace attn::keras
