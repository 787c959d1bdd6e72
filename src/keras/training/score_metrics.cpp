// F scores, overlaps and R², after keras/src/metrics/{f_score,iou,regression}_metrics.py.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "classes/ops/expression.h"
#include "config/bounded_fields.h"
#include "training/loss.h"
#include "training/mean_metric.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ReduceFn;
using graph::ValueId;

/// Returns the sum of each column as (1, C), or the sum of all elements as (1, 1).
Expression column_sums(const Expression& x, bool all = false) {
  return x.reduced({ReduceFn::sum, all ? std::vector{0, 1} : std::vector{0}, true});
}

/// Targets and predictions (B, C), with weights (B, 1) or the constant 1.
struct Columns {
  Expression truth, pred, weights;
};

Columns columns_of(const MetricCall& call) {
  Builder& b = call.b;
  const Expression truth(b, b.cast(call.y_true, b.dtype(call.y_pred))), pred(b, call.y_pred);
  if (truth.shape() != pred.shape() || pred.shape().rank() != 2)
    throw bad_input("targets and predictions must be (batch, columns), not {} and {}", truth.shape().str(),
                    pred.shape().str());
  if (!call.weights) return {truth, pred, pred.number(1.0)};
  const Expression weights(b, b.cast(*call.weights, pred.dtype()));
  if (weights.shape() != pred.shape().slice(0, 1))
    throw bad_input("weights {} do not fit predictions {}: one for each row is needed", weights.shape().str(),
                    pred.shape().str());
  return {truth, pred, {b, b.expand_dims(weights, 1)}};
}

class FBetaScore : public Metric {
 public:
  void fields(Fields& f) override {
    read_average(f);
    number(f, "beta", rule_.beta, kAboveZero);
  }
  MetricSums sums(const MetricCall& call) const override {
    const auto [truth, pred, weights] = columns_of(call);
    const Expression largest = pred.reduced({ReduceFn::max, {1}, true});
    const Expression passes = threshold_ ? pred > *threshold_ : (largest <= pred) & (abs(pred) > 1e-9);
    const Expression positive = passes.cast(pred.dtype());
    const bool all = rule_.average == FBetaRule::Average::micro;
    std::vector<ValueId> rows;
    for (const Expression& each : {positive * truth, positive * (1.0 - truth), (1.0 - positive) * truth, truth})
      rows.push_back(column_sums(each * weights, all));
    const bool is_list = rule_.average == FBetaRule::Average::none;
    return {call.b.apply(graph::Concat{0}, rows), graph::kNone, rule_, is_list ? pred.shape().back() : 1};
  }

 protected:
  void read_average(Fields& f) {
    using Average = FBetaRule::Average;
    if (const auto ref = f.take("average"); ref && !ref->is_null()) {
      const std::string& word = ref->text();
      if (word == "micro") {
        rule_.average = Average::micro;
      } else if (word == "macro") {
        rule_.average = Average::macro;
      } else if (word == "weighted") {
        rule_.average = Average::weighted;
      } else {
        ref->fail("expected micro, macro, weighted or null, got " + ref->kind());
      }
    }
    number(f, "threshold", threshold_, kUpToOne);
  }

 private:
  FBetaRule rule_;
  std::optional<double> threshold_;
};

class F1Score : public FBetaScore {
 public:
  void fields(Fields& f) override { read_average(f); }
};

constexpr std::int64_t kMostClasses = 10'000;  // the confusion matrix has this many rows and columns

/// Overlap (intersection over union) of classes. Targets and predictions are class numbers, or arrays whose largest
/// element along an axis gives the class.
class IoU : public Metric {
 public:
  void fields(Fields& f) override {
    read_classes(f);
    read_targets(f, true);
    f("sparse_y_true", sparse_y_true_);
    f("sparse_y_pred", sparse_y_pred_);
    read_rest(f);
  }

  MetricSums sums(const MetricCall& call) const override {
    Builder& b = call.b;
    const Expression truth = numbers(b, call.y_true, sparse_y_true_);
    const Expression pred = numbers(b, predicted(b, call.y_pred), sparse_y_pred_);
    if (truth.shape() != pred.shape())
      throw bad_input("{} targets do not fit {} predictions", truth.shape().size(), pred.shape().size());
    const auto classes = static_cast<double>(rule_.classes);
    const auto is_class = [&](const Expression& x) { return (x.number(0.0) <= x) & (x < classes); };
    Expression counted = is_class(truth) & is_class(pred);
    if (ignore_class_)
      counted = counted & (truth == static_cast<double>(*ignore_class_)).unary(graph::UnaryFn::logical_not);
    const Expression weights = weights_of(call, truth) * counted.cast(DType::float32);
    const auto one_hot = [&](const Expression& x) {
      const Expression columns(b, b.apply(graph::Iota{{rule_.classes}, DType::int32, 0}, {}));
      const Expression column(b, b.expand_dims(x.cast(DType::int32), -1));
      return (column == columns).cast(DType::float32);
    };
    const Expression weighted = one_hot(pred) * Expression(b, b.expand_dims(weights, -1));
    return {b.apply(graph::MatMul{true, false}, {one_hot(truth), weighted}), graph::kNone, rule_};
  }

 protected:
  void read_classes(Fields& f) {
    f.required("num_classes", rule_.classes);
    integer(f, "num_classes", rule_.classes, 1, kMostClasses);
  }
  void read_targets(Fields& f, bool required) {
    std::vector<std::int64_t> ids = rule_.targets;
    if (required) {
      f.required("target_class_ids", ids);
    } else {
      f("target_class_ids", ids);
    }
    for (const std::int64_t id : ids)
      if (id < 0 || id >= rule_.classes)
        f.config()["target_class_ids"].fail(
            fmt::format("expected classes from 0 to {}, got {}", rule_.classes - 1, id));
    rule_.targets = std::move(ids);
  }
  void read_rest(Fields& f) {
    integer(f, "ignore_class", ignore_class_, -kMostClasses, kMostClasses);
    integer(f, "axis", axis_, -1, 0);  // Keras fails for any other axis
    std::optional<std::string> dtype;
    f("dtype", dtype);
    is_integer_ = !dtype || dtype->starts_with("int") || dtype->starts_with("uint");
  }
  void all_classes() {
    rule_.targets.resize(static_cast<std::size_t>(rule_.classes));
    std::iota(rule_.targets.begin(), rule_.targets.end(), 0);
  }
  void two_classes() {
    rule_.classes = 2;
    all_classes();
  }
  [[nodiscard]] virtual ValueId predicted(Builder&, ValueId y_pred) const { return y_pred; }

  bool sparse_y_true_ = true, sparse_y_pred_ = true;

 private:
  /// Returns the class of each prediction, (N).
  [[nodiscard]] Expression numbers(Builder& b, ValueId x, bool sparse) const {
    if (!sparse) {
      const auto axis = normalize_axis(axis_, b.shape(x).rank());
      if (!axis) throw bad_input("axis {} is outside of {}", axis_, b.shape(x).str());
      x = b.apply(graph::Reduce{ReduceFn::argmax, {*axis}}, {x});
    }
    if (is_integer_) x = b.cast(x, DType::int32);
    x = b.cast(x, DType::float32);
    return {b, b.reshape(x, {b.shape(x).size()})};
  }
  /// Returns the weights (N). Keras truncates them to integers if the metric's dtype is an integer.
  [[nodiscard]] Expression weights_of(const MetricCall& call, const Expression& truth) const {
    Builder& b = call.b;
    if (!call.weights) return truth.number(1.0);
    const Shape given = b.shape(*call.weights);
    if (given.size() != truth.shape().size())
      throw bad_input("weights {} do not fit {} targets", given.str(), truth.shape().size());
    ValueId weights = b.reshape(*call.weights, truth.shape());
    if (is_integer_) weights = b.cast(weights, DType::int32);
    return {b, b.cast(weights, DType::float32)};
  }

  OverlapRule rule_;
  std::optional<std::int64_t> ignore_class_;
  std::int64_t axis_ = -1;
  bool is_integer_ = true;
};

class BinaryIoU : public IoU {
 public:
  BinaryIoU() { two_classes(); }
  void fields(Fields& f) override {
    read_targets(f, false);
    number(f, "threshold", threshold_, kFinite);
    read_rest(f);
  }

 protected:
  ValueId predicted(Builder& b, ValueId y_pred) const override {
    return b.binary(graph::BinaryFn::greater_equal, y_pred, b.scalar_like(y_pred, threshold_));
  }

 private:
  double threshold_ = 0.5;
};

class MeanIoU : public IoU {
 public:
  void fields(Fields& f) override {
    read_classes(f);
    all_classes();
    f("sparse_y_true", sparse_y_true_);
    f("sparse_y_pred", sparse_y_pred_);
    read_rest(f);
  }
};

class OneHotIoU : public IoU {
 public:
  OneHotIoU() { sparse_y_true_ = sparse_y_pred_ = false; }
  void fields(Fields& f) override {
    read_classes(f);
    read_targets(f, true);
    f("sparse_y_pred", sparse_y_pred_);
    read_rest(f);
  }
};

class OneHotMeanIoU : public OneHotIoU {
 public:
  void fields(Fields& f) override {
    read_classes(f);
    all_classes();
    f("sparse_y_pred", sparse_y_pred_);
    read_rest(f);
  }
};

class R2Score : public Metric {
 public:
  void fields(Fields& f) override {
    using Average = R2Rule::Average;
    if (const auto ref = f.take("class_aggregation")) {
      const std::string word = ref->is_null() ? "" : ref->text();
      if (word != "" && word != "uniform_average" && word != "variance_weighted_average")
        ref->fail("expected uniform_average, variance_weighted_average or null, got " + ref->kind());
      rule_.average = word.empty()                ? Average::none
                      : word == "uniform_average" ? Average::uniform
                                                  : Average::variance_weighted;
    }
    integer(f, "num_regressors", rule_.regressors, 0, kMaxSize);
  }
  MetricSums sums(const MetricCall& call) const override {
    Builder& b = call.b;
    LossCall matched(b, call.y_true, call.y_pred);
    match_targets(matched);
    MetricCall same = call;
    same.y_true = matched.y_true;
    same.y_pred = matched.y_pred;
    const auto [truth, pred, weights] = columns_of(same);
    const Expression ones(b, b.apply(graph::Fill{truth.shape(), truth.dtype(), 1.0}, {}));
    const Expression weighted = truth * weights;
    std::vector<ValueId> rows;
    for (const Expression& each : {weighted, truth * weighted, square(truth - pred) * weights, ones * weights,
                                   ones * static_cast<double>(truth.shape().back())})
      rows.push_back(column_sums(each));
    const bool is_list = rule_.average == R2Rule::Average::none;
    return {b.apply(graph::Concat{0}, rows), graph::kNone, rule_, is_list ? pred.shape().back() : 1};
  }

 private:
  R2Rule rule_;
};

constexpr MetricInfo kScoreMetrics[] = {
    {"F1Score", "", "", make_metric<F1Score>},
    {"FBetaScore", "", "", make_metric<FBetaScore>, "", "fbeta_score"},
    {"IoU", "", "", make_metric<IoU>, "num_classes and target_class_ids"},
    {"BinaryIoU", "", "", make_metric<BinaryIoU>},
    {"MeanIoU", "", "", make_metric<MeanIoU>, "num_classes"},
    {"OneHotIoU", "", "", make_metric<OneHotIoU>, "num_classes and target_class_ids"},
    {"OneHotMeanIoU", "", "", make_metric<OneHotMeanIoU>, "num_classes"},
    {"R2Score", "", "", make_metric<R2Score>},
};

}  // namespace

std::span<const MetricInfo> score_metrics() { return kScoreMetrics; }

}  // namespace attn::keras
