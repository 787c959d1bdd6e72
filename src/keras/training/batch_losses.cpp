// Losses over pairs in a batch, and over alignments (keras/src/losses/losses.py).
#include <algorithm>
#include <limits>

#include "classes/ops/expression.h"
#include "config/bounded_fields.h"
#include "training/loss.h"

namespace attn::keras {
namespace {

using graph::ReduceFn;
using graph::UnaryFn;
using graph::ValueId;

/// Returns ln Σ eˣ along an axis.
Expression log_sum(const Expression& x, int axis) { return x.reduced({ReduceFn::logsumexp, {axis}}); }

/// The circle loss (Sun et al., 2020) of labels (B) and embeddings (B,D) of length 1: embeddings with equal labels
/// should be close.
class Circle : public Loss {
 public:
  void fields(Fields& f) override {
    number(f, "gamma", gamma, kFinite);
    number(f, "margin", margin, kFinite);
    f("remove_diagonal", remove_diagonal);
  }
  ValueId values(LossCall& c) const override {
    const Shape shape = c.b.shape(c.y_pred);
    if (shape.rank() != 2) throw bad_input("the loss circle needs predictions (batch, size), got {}", shape.str());
    const Dim rows = shape[0];
    const Expression x(c.b, c.y_pred), labels(c.b, c.b.reshape(c.y_true, {rows, 1}));
    const Expression distance =
        max(1.0 - Expression(c.b, c.b.apply(graph::MatMul{false, true}, {x, x})), x.number(0.0));
    const Expression same = labels == Expression(c.b, c.b.reshape(labels, {1, rows}));
    const Expression other = same.unary(UnaryFn::logical_not);
    Expression near = same;
    if (remove_diagonal) {
      const Expression row(c.b, c.b.apply(graph::Iota{{rows, 1}, DType::int32, 0}, {}));
      const Expression column(c.b, c.b.apply(graph::Iota{{1, rows}, DType::int32, 1}, {}));
      near = near & (row == column).unary(UnaryFn::logical_not);
    }
    const auto weighed = [&](const Expression& weight, const Expression& mask) {
      return max(weight * mask.cast(x.dtype()), x.number(0.0));
    };
    const Expression pulls = weighed(distance + margin.value, near) * (margin.value - distance) * -gamma.value;
    const Expression pushes =
        weighed(1.0 + margin.value - distance, other) * (1.0 - margin.value - distance) * gamma.value;
    const Expression none = x.number(-std::numeric_limits<double>::infinity());
    const Expression sum = log_sum(where(near, pulls, none), 1) + log_sum(where(other, pushes, none), 1);
    const Expression out = sum.unary(UnaryFn::softplus);
    c.mask = out > 0.0;
    return out;
  }
  Labels labels() const override { return Labels::classes; }

 private:
  Number gamma = 80.0, margin = 0.4;
  bool remove_diagonal = true;
};

/// The CTC loss (Graves et al., 2006). Labels (B,L) have classes from 1 on and are padded with 0; logits (B,T,C) have
/// class 0 for a blank. The loss is the negative log-probability of all paths that read as the labels.
class CTC : public Loss {
 public:
  ValueId values(LossCall& c) const override {
    const Shape truth = c.b.shape(c.y_true), pred = c.b.shape(c.y_pred);
    if (truth.rank() != 2 || pred.rank() != 3)
      throw bad_input(
          "the loss ctc needs targets (batch, labels) and predictions (batch, steps, classes), got {} and {}",
          truth.str(), pred.str());
    const Dim rows = truth[0], length = truth[1], steps = pred[1], places = 2 * length + 1;
    if (steps < 1 || steps > kMostSteps)
      throw bad_input("the loss ctc takes predictions of 1 to {} steps, got {}", kMostSteps, steps);
    const Expression labels(c.b, c.b.cast(c.y_true, DType::int32)), logits(c.b, c.y_pred);
    // The symbols of a path: the labels, with a blank before, between and after them.
    const ValueId blanks = c.b.apply(graph::Fill{{rows, length, 1}, DType::int32, 0.0}, {});
    const ValueId pairs = c.b.apply(graph::Concat{2}, {blanks, c.b.expand_dims(labels, -1)});
    const ValueId last = c.b.apply(graph::Fill{{rows, 1}, DType::int32, 0.0}, {});
    const Expression symbols(c.b,
                             c.b.apply(graph::Concat{1}, {c.b.reshape(pairs, {rows, 2 * length}), last}));  // (B,S)

    const ValueId scores = c.b.apply(graph::Softmax{graph::SoftmaxKind::log_softmax, {2}}, {logits});
    const Expression classes(c.b, c.b.apply(graph::Iota{{1, 1, pred[2]}, DType::int32, 2}, {}));
    const Expression one_hot = (Expression(c.b, c.b.expand_dims(symbols, -1)) == classes).cast(logits.dtype());
    const ValueId emitted = c.b.apply(graph::MatMul{false, true}, {scores, one_hot});  // (B,T,S)

    const Expression none = logits.number(kNone);
    const Expression place(c.b, c.b.apply(graph::Iota{{1, places}, DType::int32, 1}, {}));
    // A blank between two labels is optional unless they are equal.
    const Expression before(c.b, shifted(c, symbols, 2, 0.0));
    const Expression skips =
        (symbols == 0.0).unary(UnaryFn::logical_not) & (symbols == before).unary(UnaryFn::logical_not);
    Expression reached = where(place < 2.0, at(c, emitted, 0), none);
    for (Dim step = 1; step < steps; ++step) {
      const Expression skipped = where(skips, Expression(c.b, shifted(c, reached, 2, kNone)), none);
      const ValueId ways =
          c.b.apply(graph::Concat{1}, {c.b.expand_dims(reached, 1), c.b.expand_dims(shifted(c, reached, 1, kNone), 1),
                                       c.b.expand_dims(skipped, 1)});
      reached = max(log_sum(Expression(c.b, ways), 1) + at(c, emitted, step), none);
    }
    const Expression is_label = (labels == 0.0).unary(UnaryFn::logical_not).cast(DType::int32);
    const Expression end = is_label.reduced({ReduceFn::sum, {1}, true}) * 2.0;  // (B,1)
    const Expression is_end = (place == end) | (place + 1.0 == end);
    const Expression out = -log_sum(where(is_end, reached, none), 1);
    const Expression impossible = out.number(std::numeric_limits<double>::infinity());
    return where(out.number(-kNone / 2.0) < out, impossible, out);
  }
  Labels labels() const override { return Labels::classes; }
  [[nodiscard]] bool takes(const Shape&, const Shape&) const override { return true; }

 private:
  static constexpr Dim kMostSteps = 4096;  // each step has its own operations
  static constexpr double kNone = -1e30;   // stands for ln 0; finite, so that sums stay finite

  /// Returns step `step` of x (B,T,S), as (B,S).
  static Expression at(LossCall& c, ValueId x, Dim step) {
    graph::Slice slice;
    slice.ranges = {{}, {step, step + 1, 1}, {}};
    const Shape shape = c.b.shape(x);
    return {c.b, c.b.reshape(c.b.apply(slice, {x}), {shape[0], shape[2]})};
  }
  /// Shifts x (B,S) to the right, with `fill` on the left.
  static ValueId shifted(LossCall& c, const Expression& x, Dim by, double fill) {
    const Shape shape = x.shape();
    const Dim kept = std::max<Dim>(0, shape[1] - by);
    graph::Slice slice;
    slice.ranges = {{}, {0, kept, 1}};
    const ValueId filled = c.b.apply(graph::Fill{{shape[0], shape[1] - kept}, x.dtype(), fill}, {});
    return c.b.apply(graph::Concat{1}, {filled, c.b.apply(slice, {x})});
  }
};

constexpr LossInfo kBatchLosses[] = {
    {"CTC", "ctc", make_loss<CTC>},
    {"Circle", "circle", make_loss<Circle>},
};

}  // namespace

std::span<const LossInfo> batch_losses() { return kBatchLosses; }

}  // namespace attn::keras
