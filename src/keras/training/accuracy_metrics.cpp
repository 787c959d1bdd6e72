// Fractions of correct predictions, after keras/src/metrics/accuracy_metrics.py.
#include "attn/base/size.h"
#include "classes/ops/expression.h"
#include "config/bounded_fields.h"
#include "training/mean_metric.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ReduceFn;
using graph::ValueId;

/// Returns the index of the largest element along the last axis.
ValueId argmax(Builder& b, ValueId x) { return b.apply(graph::Reduce{ReduceFn::argmax, {b.shape(x).rank() - 1}}, {x}); }

/// Returns 1 where two values are equal, compared in the dtype of the predictions, and 0 elsewhere. A label that is no
/// integer agrees with no class.
ValueId agree(LossCall& c, ValueId x, ValueId y) {
  const DType dtype = c.b.dtype(c.y_pred);
  return c.b.cast(c.b.binary(graph::BinaryFn::equal, c.b.cast(x, dtype), c.b.cast(y, dtype)), dtype);
}

/// Returns the targets without their last axis, if it has size 1 and the predictions have an axis of classes.
ValueId target_classes(LossCall& c) {
  const Shape truth = c.b.shape(c.y_true);
  const bool has_one = truth.rank() == c.rank() && truth.rank() > 0 && truth.back() == 1;
  return has_one ? c.b.reshape(c.y_true, truth.slice(0, truth.rank() - 1)) : c.y_true;
}

/// Throws Error (bad_input) unless there is one class for each row of predictions.
void expect_class_each(const LossCall& c, ValueId classes) {
  const Shape truth = c.b.shape(classes), pred = c.b.shape(c.y_pred);
  if (truth != pred.slice(0, pred.rank() - 1))
    throw bad_input("classes {} do not fit predictions {}: there must be one for each row", truth.str(), pred.str());
}

/// The fraction of targets that equal their predictions, as with metrics=[keras.metrics.Accuracy()]. The name
/// "accuracy" selects another metric.
class Accuracy : public MeanMetric {
 protected:
  ValueId values(LossCall& c, const MetricCall&) const override {
    match_targets(c);
    return agree(c, c.y_true, c.y_pred);
  }
};

class BinaryAccuracy : public MeanMetric {
 public:
  void fields(Fields& f) override { number(f, "threshold", threshold_, kFinite); }

 protected:
  ValueId values(LossCall& c, const MetricCall&) const override {
    match_targets(c);
    return agree(c, c.y_true, c.b.binary(graph::BinaryFn::greater, c.y_pred, c.number(threshold_)));
  }

 private:
  double threshold_ = 0.5;
};

class CategoricalAccuracy : public MeanMetric {
 protected:
  ValueId values(LossCall& c, const MetricCall&) const override {
    const ValueId targets = argmax(c.b, c.y_true);
    if (c.b.shape(targets).rank() >= c.rank()) expect_class_each(c, targets);
    return agree(c, targets, argmax(c.b, c.y_pred));
  }
};

class SparseCategoricalAccuracy : public MeanMetric {
 protected:
  ValueId values(LossCall& c, const MetricCall&) const override {
    return agree(c, argmax(c.b, c.y_pred), target_classes(c));
  }
};

/// Returns 1 where fewer than k scores are larger than the target's score (tf.math.in_top_k); 0 for a target that is
/// not a class.
ValueId in_top_k(LossCall& c, ValueId targets, std::int64_t k) {
  expect_class_each(c, targets);
  const Expression scores(c.b, c.y_pred);
  const int last = c.rank() - 1;
  const Expression columns(c.b, c.b.apply(graph::Iota{{c.b.shape(c.y_pred).back()}, DType::int32, 0}, {}));
  const Expression is_target = Expression(c.b, c.b.expand_dims(targets, -1)) == columns;
  const Expression own = where(is_target, scores, scores.number(0.0)).reduced({ReduceFn::sum, {last}, true});
  const Expression larger = (own < scores).cast(scores.dtype()).reduced({ReduceFn::sum, {last}});
  const Expression is_class = is_target.reduced({ReduceFn::any, {last}});
  return (is_class & (larger < static_cast<double>(k))).cast(scores.dtype());
}

class TopKCategoricalAccuracy : public MeanMetric {
 public:
  void fields(Fields& f) override { integer(f, "k", k_, 1, kMaxSize); }

 protected:
  ValueId values(LossCall& c, const MetricCall&) const override { return in_top_k(c, argmax(c.b, c.y_true), k_); }

  std::int64_t k_ = 5;
};

class SparseTopKCategoricalAccuracy : public TopKCategoricalAccuracy {
 public:
  void fields(Fields& f) override {
    TopKCategoricalAccuracy::fields(f);
    f("from_sorted_ids", from_sorted_ids_);
  }

 protected:
  ValueId values(LossCall& c, const MetricCall&) const override {
    const ValueId targets = target_classes(c);
    if (!from_sorted_ids_) return in_top_k(c, c.b.cast(targets, DType::int32), k_);
    expect_class_each(c, targets);
    graph::Slice first;
    first.ranges.resize(static_cast<std::size_t>(c.rank()));
    first.ranges.back() = {0, k_, 1};
    const Expression ids(c.b, c.b.apply(first, {c.y_pred}));
    const Expression own(c.b, c.b.expand_dims(c.b.cast(targets, ids.dtype()), -1));
    return (own == ids).reduced({ReduceFn::any, {c.rank() - 1}}).cast(ids.dtype());
  }

 private:
  bool from_sorted_ids_ = false;
};

constexpr MetricInfo kAccuracyMetrics[] = {
    {"Accuracy", "", "accuracy", make_metric<Accuracy>},
    {"BinaryAccuracy", "", "binary_accuracy", make_metric<BinaryAccuracy>},
    {"CategoricalAccuracy", "", "categorical_accuracy", make_metric<CategoricalAccuracy>},
    {"SparseCategoricalAccuracy", "", "sparse_categorical_accuracy", make_metric<SparseCategoricalAccuracy>},
    {"TopKCategoricalAccuracy", "", "top_k_categorical_accuracy", make_metric<TopKCategoricalAccuracy>},
    {"SparseTopKCategoricalAccuracy", "", "sparse_top_k_categorical_accuracy",
     make_metric<SparseTopKCategoricalAccuracy>},
};

}  // namespace

std::span<const MetricInfo> accuracy_metrics() { return kAccuracyMetrics; }

}  // namespace attn::keras
