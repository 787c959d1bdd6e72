#include "training/mean_metric.h"

#include <vector>

#include "attn/base/error.h"
#include "training/ranks.h"
#include "training/reduction.h"

namespace attn::keras {

using graph::BinaryFn;
using graph::Builder;
using graph::ReduceFn;
using graph::ValueId;

namespace {

/// Returns the mean over the axes from `first` on.
ValueId mean_from(Builder& b, ValueId x, int first) {
  std::vector<int> axes;
  for (int axis = first; axis < b.shape(x).rank(); ++axis) axes.push_back(axis);
  return axes.empty() ? x : b.apply(graph::Reduce{ReduceFn::mean, axes}, {x});
}

/// Matches the ranks of two values, if one has a last axis of size 1 (squeeze_or_expand_to_same_rank).
void match(Builder& b, ValueId& x, ValueId& y) {
  LossCall call(b, x, y);
  match_ranks(call);
  x = call.y_true;
  y = call.y_pred;
}

/// Returns x·y, or the one that exists.
std::optional<ValueId> both(Builder& b, DType dtype, std::optional<ValueId> x, std::optional<ValueId> y) {
  if (y) y = b.cast(*y, dtype);
  if (!x || !y) return x ? x : y;
  match(b, *x, *y);
  return b.binary(BinaryFn::multiply, *x, *y);
}

/// Broadcasts `weights` to the shape of `values`. Throws Error (bad_input) if that is not possible.
ValueId broadcast_weights(Builder& b, ValueId weights, ValueId values) {
  const Shape have = b.shape(weights), want = b.shape(values);
  bool fits = have.rank() == want.rank();
  for (int axis = 0; fits && axis < have.rank(); ++axis) fits = have[axis] == want[axis] || have[axis] == 1;
  if (!fits) throw bad_input("weights {} do not fit its values {}: they must have that shape", have.str(), want.str());
  return have == want ? weights : b.apply(graph::Broadcast{want}, {weights});
}

/// Computes a function of keras.losses for a metric, from y_true with the dtype that the data has.
ValueId loss_values(const Loss& loss, LossCall& call, bool matches_ranks) {
  Builder& b = call.b;
  if (loss.labels() != Labels::classes) {
    call.y_true = b.cast(call.y_true, b.dtype(call.y_pred));
  } else if (!is_integer(b.dtype(call.y_true))) {
    call.y_true = b.cast(call.y_true, DType::int32);
  }
  if (matches_ranks) match_ranks(call);
  return loss.values(call);
}

class MetricOfFunction : public MeanMetric {
 public:
  MetricOfFunction(const LossInfo& info, double factor)
      : loss_(info.make()), factor_(factor), matches_ranks_(info.matches_ranks) {}
  void fields(Fields& f) override { loss_->fields(f); }
  bool up() const override { return factor_ < 0.0; }

 protected:
  ValueId values(LossCall& call, const MetricCall&) const override {
    const ValueId values = loss_values(*loss_, call, matches_ranks_);
    return factor_ == 1.0 ? values : call.times(values, factor_);
  }

 private:
  LossPtr loss_;
  double factor_;
  bool matches_ranks_;
};

class MetricOfLoss : public MeanMetric {
 public:
  explicit MetricOfLoss(LossPtr loss) : loss_(std::move(loss)) {}
  bool up() const override { return false; }

 protected:
  ValueId values(LossCall& call, const MetricCall& given) const override {
    const ValueId values = loss_values(*loss_, call, true);
    std::optional<ValueId> mask = call.mask;
    if (given.mask) mask = mask ? call.b.binary(BinaryFn::logical_and, *given.mask, *mask) : *given.mask;
    call.mask.reset();
    return reduced(call.b, values, std::nullopt, mask, loss_->reduction.value_or("none"));
  }

 private:
  LossPtr loss_;
};

}  // namespace

void match_targets(LossCall& call) {
  call.y_true = call.b.cast(call.y_true, call.b.dtype(call.y_pred));
  match_ranks(call);
}

MetricSums MeanMetric::sums(const MetricCall& call) const {
  Builder& b = call.b;
  LossCall function(b, call.y_true, call.y_pred);
  function.logits = call.logits;
  ValueId numbers = values(function, call);
  const DType dtype = b.dtype(numbers);
  std::optional<ValueId> weights;
  if (call.weights) weights = b.cast(*call.weights, dtype);
  if (takes_mask()) weights = both(b, dtype, weights, call.mask);
  // Keras applies the mask of the predictions' logits only together with weights; without weights, masked values count.
  if (weights) weights = both(b, dtype, weights, function.mask);
  MetricSums out;
  out.rule = rule();
  if (weights) {
    match(b, numbers, *weights);
    const int rank = b.shape(*weights).rank();
    numbers = mean_from(b, numbers, rank);
    weights = broadcast_weights(b, *weights, numbers);
    numbers = b.binary(BinaryFn::multiply, numbers, *weights);
    out.count = sum_of_all(b, mean_from(b, *weights, 1));
  }
  numbers = mean_from(b, numbers, 1);
  if (!weights) {
    const Shape shape = b.shape(numbers);
    out.count = b.apply(graph::Fill{{}, dtype, shape.rank() > 0 ? static_cast<double>(shape[0]) : 1.0}, {});
  }
  out.total = sum_of_all(b, numbers);
  return out;
}

MetricPtr metric_of_function(const LossInfo& loss, double factor) {
  return std::make_unique<MetricOfFunction>(loss, factor);
}

MetricPtr metric_of_loss(LossPtr loss) { return std::make_unique<MetricOfLoss>(std::move(loss)); }

}  // namespace attn::keras
