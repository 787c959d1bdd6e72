// Counts and rates at thresholds, after keras/src/metrics/confusion_metrics.py.
#include "attn/base/size.h"
#include "config/bounded_fields.h"
#include "training/confusion.h"

namespace attn::keras {
namespace {

/// Metrics with a field `thresholds`: a number or a list, 0.5 by default.
class AtThresholds : public Metric {
 public:
  void fields(Fields& f) override {
    if (auto given = thresholds_in(f)) given_ = std::move(given);
  }

 protected:
  [[nodiscard]] Thresholds thresholds(double usual = 0.5) const {
    return Thresholds::of(given_.value_or(std::vector{usual}));
  }

 private:
  std::optional<std::vector<double>> given_;
};

template <ConfusionKind kKind, bool kUp>
class ConfusionCount : public AtThresholds {
 public:
  MetricSums sums(const MetricCall& call) const override {
    const Thresholds at = thresholds();
    return {confusion(call, at, {}, {kKind}), graph::kNone, SumRule{}, std::ssize(at.at)};
  }
  bool up() const override { return kUp; }
};

/// The number of true positives divided by the sum of true positives and another kind: false positives (precision), or
/// false negatives (recall).
template <ConfusionKind kOther>
class ConfusionShare : public AtThresholds {
 public:
  void fields(Fields& f) override {
    AtThresholds::fields(f);
    integer(f, "top_k", of_.top_k, 1, kMaxSize);
    integer(f, "class_id", of_.class_id, -kMaxSize, kMaxSize);
  }
  MetricSums sums(const MetricCall& call) const override {
    constexpr double kBelowAll = -1e10;
    const Thresholds at = thresholds(of_.top_k ? kBelowAll : 0.5);
    const graph::ValueId hits = confusion(call, at, of_, {ConfusionKind::true_positives});
    const graph::ValueId misses = confusion(call, at, of_, {kOther});
    return {hits, call.b.binary(graph::BinaryFn::add, hits, misses), MeanRule{}, std::ssize(at.at)};
  }

 private:
  ConfusionFields of_;
};

constexpr MetricInfo kConfusionMetrics[] = {
    {"TruePositives", "", "", make_metric<ConfusionCount<ConfusionKind::true_positives, true>>},
    {"TrueNegatives", "", "", make_metric<ConfusionCount<ConfusionKind::true_negatives, true>>},
    {"FalsePositives", "", "", make_metric<ConfusionCount<ConfusionKind::false_positives, false>>},
    {"FalseNegatives", "", "", make_metric<ConfusionCount<ConfusionKind::false_negatives, false>>},
    {"Precision", "", "", make_metric<ConfusionShare<ConfusionKind::false_positives>>},
    {"Recall", "", "", make_metric<ConfusionShare<ConfusionKind::false_negatives>>},
};

}  // namespace

std::span<const MetricInfo> confusion_metrics() { return kConfusionMetrics; }

}  // namespace attn::keras
