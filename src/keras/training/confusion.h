// Compares predictions of two classes with thresholds (keras/src/metrics/metrics_utils.py).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "training/metric_class.h"

namespace attn::keras {

/// Thresholds in ascending order.
struct Thresholds {
  std::vector<double> at;
  /// Whether thresholds are evenly spaced. Keras then compares by buckets, with predictions clipped to [0, 1].
  bool even = false;
  /// Whether the first threshold is below 0, so that every prediction exceeds it.
  bool open = false;

  /// Makes thresholds at the given numbers.
  [[nodiscard]] static Thresholds of(std::vector<double> at);
  /// Makes `count` evenly spaced thresholds i/(count − 1), or 0.5 if the count is 1.
  [[nodiscard]] static Thresholds spread(std::int64_t count);
};

struct ConfusionFields {
  std::optional<std::int64_t> top_k;     ///< only the k largest of each row can be positive
  std::optional<std::int64_t> class_id;  ///< uses only this column of the last axis
  bool from_logits = false;
  bool multi_label = false;  ///< counts each column separately
  std::vector<double> label_weights;
};

enum class ConfusionKind : std::uint8_t { true_positives, false_positives, true_negatives, false_negatives };

/// Returns the weighted number of predictions of each kind: (kinds, labels, thresholds), where `labels` is 1 unless
/// `multi_label`. Throws Error (bad_input) if targets or weights do not have the shape of the predictions.
[[nodiscard]] graph::ValueId confusion(const MetricCall& call, const Thresholds& thresholds,
                                       const ConfusionFields& fields, std::initializer_list<ConfusionKind> kinds);

/// Reads the field `thresholds` of a config: null or a list of numbers from 0 to 1. If `one`, it may also be a single
/// number, and the list must not be empty.
[[nodiscard]] std::optional<std::vector<double>> thresholds_in(Fields& f, bool one = true);

}  // namespace attn::keras
