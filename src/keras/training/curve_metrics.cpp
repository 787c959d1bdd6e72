// Metrics of a curve over many thresholds, after keras/src/metrics/confusion_metrics.py.
#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "config/bounded_fields.h"
#include "training/confusion.h"
#include "training/loss.h"

namespace attn::keras {
namespace {

constexpr std::int64_t kMostThresholds = 1'000'000;

MetricSums all_kinds(const MetricCall& call, const Thresholds& at, const ConfusionFields& of, MetricRule rule) {
  return {confusion(call, at, of,
                    {ConfusionKind::true_positives, ConfusionKind::false_positives, ConfusionKind::true_negatives,
                     ConfusionKind::false_negatives}),
          graph::kNone, std::move(rule)};
}

class AUC : public Metric {
 public:
  void fields(Fields& f) override {
    given_ = thresholds_in(f, false);
    integer(f, "num_thresholds", num_thresholds_, 2, kMostThresholds);
    Choice curve{"ROC", {"ROC", "PR", "PRGAIN", "roc", "pr", "prgain"}};
    Choice method{"interpolation", {"interpolation", "minoring", "majoring", "Interpolation", "Minoring", "Majoring"}};
    f("curve", curve);
    f("summation_method", method);
    f("from_logits", of_.from_logits);
    f("multi_label", of_.multi_label);
    std::optional<std::int64_t> num_labels;
    integer(f, "num_labels", num_labels, 0, kMaxSize);
    using Curve = AreaRule::Curve;
    using Heights = AreaRule::Heights;
    const auto is = [](const Choice& given, std::initializer_list<std::string_view> names) {
      return std::ranges::count(names, given.value) > 0;
    };
    rule_.curve = is(curve, {"PR", "pr"}) ? Curve::pr : is(curve, {"ROC", "roc"}) ? Curve::roc : Curve::pr_gain;
    rule_.heights = is(method, {"minoring", "Minoring"})   ? Heights::minoring
                    : is(method, {"majoring", "Majoring"}) ? Heights::majoring
                                                           : Heights::interpolation;
    if (const auto weights = f.take("label_weights"); weights && !weights->is_null()) read_weights(*weights);
  }

  MetricSums sums(const MetricCall& call) const override {
    AreaRule rule = rule_;
    if (of_.multi_label && call.b.shape(call.y_pred).rank() > 0) rule.labels = call.b.shape(call.y_pred).back();
    if (of_.multi_label && !rule.label_weights.empty() && std::ssize(rule.label_weights) != rule.labels)
      throw bad_input("{} label_weights do not fit {} labels", rule.label_weights.size(), rule.labels);
    ConfusionFields of = of_;
    if (!of_.multi_label) of.label_weights = rule.label_weights;
    return all_kinds(call, thresholds(), of, rule);
  }

 private:
  /// Reads label weights from a list, or from a serialized tensor, which Keras writes.
  void read_weights(const Ref& ref) {
    const Ref list = ref.is_object() ? ref["config"]["value"] : ref;
    list.expect_array();
    for (const Ref& each : list.elements()) rule_.label_weights.push_back(number_in(each, kFinite));
  }
  [[nodiscard]] Thresholds thresholds() const {
    if (!given_) {
      Thresholds out = Thresholds::spread(num_thresholds_);
      out.open = true;
      return out;
    }
    std::vector<double> at = *given_;
    std::ranges::sort(at);
    at.insert(at.begin(), 0.0);
    at.push_back(1.0);
    Thresholds out = Thresholds::of(std::move(at));
    out.open = true;
    out.at.front() -= kLossEpsilon;
    out.at.back() += kLossEpsilon;
    return out;
  }

  std::optional<std::vector<double>> given_;
  std::int64_t num_thresholds_ = 200;
  ConfusionFields of_;
  AreaRule rule_;
};

/// The best value of one rate among the thresholds at which another rate reaches the value of a field.
template <BestRule::Rate kLimited, BestRule::Rate kBest, const char* const& kField>
class BestAt : public Metric {
 public:
  void fields(Fields& f) override {
    f.required(kField, limit_);
    number(f, kField, limit_, kFromZeroToOne);
    integer(f, "num_thresholds", num_thresholds_, 1, kMostThresholds);
    integer(f, "class_id", of_.class_id, -kMaxSize, kMaxSize);
  }
  MetricSums sums(const MetricCall& call) const override {
    return all_kinds(call, Thresholds::spread(num_thresholds_), of_, BestRule{kLimited, kBest, limit_});
  }

 private:
  double limit_ = 0.0;
  std::int64_t num_thresholds_ = 200;
  ConfusionFields of_;
};

using Rate = BestRule::Rate;

constexpr const char* kSpecificity = "specificity";
constexpr const char* kSensitivity = "sensitivity";
constexpr const char* kRecall = "recall";
constexpr const char* kPrecision = "precision";

constexpr MetricInfo kCurveMetrics[] = {
    {"AUC", "", "", make_metric<AUC>},
    {"SensitivityAtSpecificity", "", "", make_metric<BestAt<Rate::specificity, Rate::recall, kSpecificity>>,
     kSpecificity},
    {"SpecificityAtSensitivity", "", "", make_metric<BestAt<Rate::recall, Rate::specificity, kSensitivity>>,
     kSensitivity},
    {"PrecisionAtRecall", "", "", make_metric<BestAt<Rate::recall, Rate::precision, kRecall>>, kRecall},
    {"RecallAtPrecision", "", "", make_metric<BestAt<Rate::precision, Rate::recall, kPrecision>>, kPrecision},
};

}  // namespace

std::span<const MetricInfo> curve_metrics() { return kCurveMetrics; }

}  // namespace attn::keras
