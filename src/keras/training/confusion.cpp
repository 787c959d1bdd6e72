#include "training/confusion.h"

#include <algorithm>
#include <cmath>

#include "attn/base/error.h"
#include "classes/ops/expression.h"
#include "config/bounds.h"
#include "training/loss.h"
#include "training/mean_metric.h"

namespace attn::keras {

using graph::Builder;
using graph::ReduceFn;
using graph::UnaryFn;
using graph::ValueId;

namespace {

/// Returns whether the thresholds are evenly spaced, by numpy.allclose with Keras's epsilon.
bool is_even(const std::vector<double>& thresholds) {
  constexpr double kRelative = 1e-5;
  if (thresholds.size() < 3) return false;
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    const double expected = static_cast<double>(i) / static_cast<double>(thresholds.size() - 1);
    if (!(std::abs(thresholds[i] - expected) <= kLossEpsilon + kRelative * expected)) return false;
  }
  return true;
}

/// Keeps the k largest scores of each row (the first of equal ones), and sets the others to −10¹⁰.
Expression only_top_k(const Expression& x, std::int64_t k) {
  constexpr double kNone = -1e10;
  Builder& b = *x.builder;
  const Shape shape = x.shape();
  if (shape.rank() == 0 || k > shape.back())
    throw bad_input("top_k of {} does not fit its predictions {}", k, shape.str());
  const Expression own(b, b.expand_dims(x, -1)), others(b, b.expand_dims(x, -2));
  const Expression row(b, b.apply(graph::Iota{{shape.back(), 1}, DType::int32, 0}, {}));
  const Expression column(b, b.apply(graph::Iota{{1, shape.back()}, DType::int32, 1}, {}));
  const Expression before = (own < others) | ((others == own) & (column < row));
  const Expression place = before.cast(x.dtype()).reduced({ReduceFn::sum, {shape.rank()}});
  return where(place < static_cast<double>(k), x, x.number(kNone));
}

Expression column_of(const Expression& x, std::int64_t id) {
  Builder& b = *x.builder;
  const Shape shape = x.shape();
  if (shape.rank() < 2 || id >= shape.back() || id < -shape.back())
    throw bad_input("class_id {} does not fit its predictions {}", id, shape.str());
  graph::Slice slice;
  slice.ranges.resize(static_cast<std::size_t>(shape.rank()));
  const std::int64_t at = id < 0 ? id + shape.back() : id;
  slice.ranges.back() = {at, at + 1, 1};
  return {b, b.apply(slice, {x})};
}

/// Returns the sample weights in a shape that broadcasts to the predictions (…, C). Throws Error (bad_input) if it does
/// not.
Expression weights_under(const MetricCall& call, const Shape& truth, const Expression& pred) {
  Builder& b = call.b;
  const Expression one = pred.number(1.0);
  if (!call.weights) return one;
  ValueId weights = b.expand_dims(b.cast(*call.weights, pred.dtype()), -1);
  const Shape have = b.shape(weights), want = pred.shape();
  if (have.rank() == truth.rank() + 1) weights = b.reshape(weights, have.slice(0, have.rank() - 1));
  const Shape now = b.shape(weights);
  bool fits = now.rank() == want.rank();
  for (int axis = 0; fits && axis < now.rank(); ++axis) fits = now[axis] == want[axis] || now[axis] == 1;
  if (!fits) throw bad_input("weights {} do not fit its predictions {}", b.shape(*call.weights).str(), want.str());
  return {b, weights};
}

/// Returns whether predictions (N, L, 1) exceed thresholds (T), as bool (N, L, T).
Expression passing(const Expression& pred, const Thresholds& thresholds) {
  Builder& b = *pred.builder;
  const auto count = static_cast<Dim>(thresholds.at.size());
  if (thresholds.even) {
    const Expression place =
        Expression(b, b.unary(UnaryFn::clip, pred, 0.0, 1.0)) * static_cast<double>(thresholds.at.size() - 1);
    const Expression index(b, b.apply(graph::Iota{{count}, pred.dtype(), 0}, {}));
    const Expression above = index < place;
    return thresholds.open ? above | (index == 0.0) : above;
  }
  Tensor values(pred.dtype(), Shape{count});
  for (std::size_t i = 0; i < thresholds.at.size(); ++i) values.set(static_cast<std::int64_t>(i), thresholds.at[i]);
  return Expression(b, b.constant(values)) < pred;
}

}  // namespace

Thresholds Thresholds::of(std::vector<double> at) {
  const bool even = is_even(at);
  return {std::move(at), even};
}

Thresholds Thresholds::spread(std::int64_t count) {
  if (count == 1) return {{0.5}};
  Thresholds out{{}, true};
  for (std::int64_t i = 0; i < count; ++i) out.at.push_back(static_cast<double>(i) / static_cast<double>(count - 1));
  return out;
}

ValueId confusion(const MetricCall& call, const Thresholds& thresholds, const ConfusionFields& fields,
                  std::initializer_list<ConfusionKind> kinds) {
  Builder& b = call.b;
  LossCall matched(b, call.y_true, call.y_pred);
  match_targets(matched);
  Expression truth(b, matched.y_true), pred(b, matched.y_pred);
  if (fields.from_logits) pred = pred.unary(UnaryFn::sigmoid);
  if (truth.shape() != pred.shape())
    throw bad_input("targets {} do not have the shape of predictions {}", truth.shape().str(), pred.shape().str());
  if (fields.multi_label && pred.shape().rank() != 2)
    throw bad_input("multi_label needs predictions (batch, labels), not {}", pred.shape().str());
  const Shape whole = truth.shape();
  if (fields.top_k) pred = only_top_k(pred, *fields.top_k);
  if (fields.class_id) {
    truth = column_of(truth, *fields.class_id);
    pred = column_of(pred, *fields.class_id);
  }
  Expression weights = weights_under(call, whole, pred);
  if (!fields.label_weights.empty()) {
    const auto labels = static_cast<Dim>(fields.label_weights.size());
    Tensor values(pred.dtype(), Shape{labels});
    for (Dim i = 0; i < labels; ++i) values.set(i, fields.label_weights[static_cast<std::size_t>(i)]);
    if (pred.shape().back() != labels)
      throw bad_input("{} label_weights do not fit predictions {}", labels, pred.shape().str());
    weights = weights * Expression(b, b.constant(values));
  }
  const Shape shape = pred.shape();
  const Dim columns = fields.multi_label ? shape.back() : 1;
  const auto flat = [&](const Expression& x) {
    return Expression(b, b.reshape(x, {shape.size() / std::max<Dim>(1, columns), columns, 1}));
  };
  const Expression none = pred.number(0.0);
  const Expression labels = flat(where(truth == 0.0, none, pred.number(1.0)) * weights);
  const Expression others = flat(where(truth == 0.0, pred.number(1.0), none) * weights);
  const Expression above = passing(flat(pred), thresholds).cast(pred.dtype());  // (N, L, T)
  const Expression below = 1.0 - above;
  std::vector<ValueId> rows;
  for (const ConfusionKind kind : kinds) {
    const bool is_label = kind == ConfusionKind::true_positives || kind == ConfusionKind::false_negatives;
    const bool is_above = kind == ConfusionKind::true_positives || kind == ConfusionKind::false_positives;
    rows.push_back(((is_label ? labels : others) * (is_above ? above : below)).reduced({ReduceFn::sum, {0}, true}));
  }
  return b.apply(graph::Concat{0}, rows);
}

std::optional<std::vector<double>> thresholds_in(Fields& f, bool one) {
  const auto ref = f.take("thresholds");
  if (!ref || ref->is_null()) return std::nullopt;
  if (one && !ref->is_array()) return std::vector{number_in(*ref, kFromZeroToOne)};
  ref->expect_array();
  std::vector<double> out;
  for (const Ref& each : ref->elements()) out.push_back(number_in(each, kFromZeroToOne));
  if (one && out.empty()) ref->fail("expected a threshold, got an empty list");
  return out;
}

}  // namespace attn::keras
