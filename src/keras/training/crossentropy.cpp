// Losses of probabilities and of logits (keras/src/losses/losses.py, backend/tensorflow/nn.py).
#include "attn/base/text.h"
#include "config/bounded_fields.h"
#include "training/loss.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::UnaryFn;
using graph::ValueId;

/// The fields and rules that these losses share.
class Crossentropy : public Loss {
 public:
  void fields(Fields& f) override {
    f("from_logits", from_logits);
    f("axis", axis);
  }

 protected:
  /// Returns the logits: y_pred if it is declared as logits, otherwise the logits that y_pred was computed from, if
  /// known.
  [[nodiscard]] std::optional<ValueId> logits(const LossCall& c) const {
    return from_logits ? c.logits.value_or(c.y_pred) : c.logits;
  }
  /// The kernels support only classes on the last axis.
  void expect_last_axis(const LossCall& c) const {
    if (axis != -1 && axis != c.rank() - 1)
      throw bad_input("axis {}: only the last axis is supported for classes", axis);
  }
  [[nodiscard]] static ValueId bounded(LossCall& c, ValueId probabilities) {
    return c.clip(probabilities, kLossEpsilon, 1.0 - kLossEpsilon);
  }

  bool from_logits = false;
  std::int64_t axis = -1;
};

/// Throws Error (bad_input) if targets and predictions differ in shape. Keras broadcasts them in other functions.
void expect_same_shape(const LossCall& c) {
  const Shape truth = c.b.shape(c.y_true), pred = c.b.shape(c.y_pred);
  if (truth != pred) throw bad_input("targets {} do not have the shape of predictions {}", truth.str(), pred.str());
}

/// Returns y(1 − s) + s/classes, for the smoothing s.
ValueId smoothed(LossCall& c, double smoothing, double classes) {
  if (smoothing == 0.0) return c.y_true;
  return c.add(c.times(c.y_true, 1.0 - smoothing), c.number(smoothing / classes));
}

double classes_of(const LossCall& c) { return static_cast<double>(c.b.shape(c.y_true).back()); }

class CategoricalCrossentropy : public Crossentropy {
 public:
  void fields(Fields& f) override {
    Crossentropy::fields(f);
    number(f, "label_smoothing", label_smoothing, kFromZeroToOne);
  }
  ValueId values(LossCall& c) const override {
    expect_last_axis(c);
    expect_same_shape(c);
    const ValueId labels = smoothed(c, label_smoothing, classes_of(c));
    if (const auto given = logits(c)) return c.b.apply(graph::SoftmaxCrossEntropy{}, {*given, labels});
    const ValueId share = bounded(c, c.divide(c.y_pred, c.sum(c.y_pred, -1, true)));
    return c.unary(UnaryFn::negative, c.sum(c.multiply(labels, c.unary(UnaryFn::log, share))));
  }
  Labels labels() const override { return Labels::one_hot; }

 private:
  Number label_smoothing = 0.0;
};

class CategoricalFocalCrossentropy : public Crossentropy {
 public:
  void fields(Fields& f) override {
    Crossentropy::fields(f);
    number(f, "label_smoothing", label_smoothing, kFromZeroToOne);
    number(f, "alpha", alpha, kFinite);
    number(f, "gamma", gamma, kNotNegative);
  }
  ValueId values(LossCall& c) const override {
    expect_last_axis(c);
    const ValueId labels = smoothed(c, label_smoothing, classes_of(c));
    const ValueId pred =
        from_logits ? c.b.apply(graph::Softmax{graph::SoftmaxKind::softmax, {c.rank() - 1}}, {c.y_pred}) : c.y_pred;
    const ValueId share = bounded(c, c.divide(pred, c.sum(pred, -1, true)));
    const ValueId entropy = c.unary(UnaryFn::negative, c.multiply(labels, c.unary(UnaryFn::log, share)));
    const ValueId factor = c.times(c.b.binary(BinaryFn::power, c.one_minus(share), c.number(gamma)), alpha);
    return c.sum(c.multiply(factor, entropy));
  }
  Labels labels() const override { return Labels::one_hot; }

 private:
  Number label_smoothing = 0.0, alpha = 0.25, gamma = 2.0;
};

class SparseCategoricalCrossentropy : public Crossentropy {
 public:
  void fields(Fields& f) override {
    Crossentropy::fields(f);
    f("ignore_class", ignore_class);
  }
  ValueId values(LossCall& c) const override {
    expect_last_axis(c);
    ValueId labels = c.y_true;
    // The logits behind y_pred still contain the ignored elements, so they cannot be used then.
    const bool probabilities = ignore_class ? !from_logits : !logits(c).has_value();
    ValueId scores = ignore_class ? c.y_pred : logits(c).value_or(c.y_pred);
    if (c.b.shape(labels).rank() == c.rank() && c.b.shape(labels).back() == 1)
      labels = c.b.reshape(labels, c.b.shape(labels).slice(0, c.rank() - 1));
    if (ignore_class) {
      c.mask = c.b.binary(BinaryFn::not_equal, labels, c.b.scalar_like(labels, static_cast<double>(*ignore_class)));
      labels = c.select(*c.mask, labels, c.b.scalar_like(labels, 0.0));
      scores = c.select(c.b.expand_dims(*c.mask, -1), scores, c.number(0.0));
    }
    if (probabilities) scores = c.unary(UnaryFn::log, bounded(c, scores));
    const ValueId values = c.b.apply(graph::SoftmaxCrossEntropy{}, {scores, labels});
    return c.mask ? c.select(*c.mask, values, c.number(0.0)) : values;
  }
  Labels labels() const override { return Labels::classes; }
  bool is_bounded() const override { return true; }
  std::optional<std::int64_t> ignored() const override { return ignore_class; }

 private:
  std::optional<std::int64_t> ignore_class;
};

/// Returns the elementwise entropy of probabilities.
ValueId binary_entropy(LossCall& c, ValueId labels, ValueId probabilities) {
  const ValueId yes = c.multiply(labels, c.unary(UnaryFn::log, probabilities));
  const ValueId no = c.multiply(c.one_minus(labels), c.unary(UnaryFn::log, c.one_minus(probabilities)));
  return c.unary(UnaryFn::negative, c.add(yes, no));
}

/// Returns the elementwise entropy of logits z: ln(1 + eᶻ) − z·y.
ValueId binary_entropy_of_logits(LossCall& c, ValueId labels, ValueId z) {
  return c.subtract(c.unary(UnaryFn::softplus, z), c.multiply(z, labels));
}

class BinaryCrossentropy : public Crossentropy {
 public:
  void fields(Fields& f) override {
    Crossentropy::fields(f);
    number(f, "label_smoothing", label_smoothing, kFromZeroToOne);
  }
  ValueId values(LossCall& c) const override {
    expect_same_shape(c);
    const ValueId labels = smoothed(c, label_smoothing, 2.0);
    if (const auto given = logits(c)) return c.mean(binary_entropy_of_logits(c, labels, *given), axis);
    return c.mean(binary_entropy(c, labels, bounded(c, c.y_pred)), axis);
  }
  Labels labels() const override { return Labels::binary; }

 private:
  Number label_smoothing = 0.0;
};

class BinaryFocalCrossentropy : public Crossentropy {
 public:
  void fields(Fields& f) override {
    Crossentropy::fields(f);
    number(f, "label_smoothing", label_smoothing, kFromZeroToOne);
    f("apply_class_balancing", apply_class_balancing);
    number(f, "alpha", alpha, kFinite);
    number(f, "gamma", gamma, kNotNegative);
  }
  ValueId values(LossCall& c) const override {
    expect_same_shape(c);
    const ValueId labels = smoothed(c, label_smoothing, 2.0);
    const ValueId pred = from_logits ? c.unary(UnaryFn::sigmoid, c.y_pred) : c.y_pred;
    const ValueId entropy = !from_logits && c.logits ? binary_entropy_of_logits(c, labels, *c.logits)
                                                     : binary_entropy(c, labels, bounded(c, pred));
    const ValueId right = c.add(c.multiply(labels, pred), c.multiply(c.one_minus(labels), c.one_minus(pred)));
    ValueId focal = c.multiply(c.b.binary(BinaryFn::power, c.one_minus(right), c.number(gamma)), entropy);
    if (apply_class_balancing)
      focal = c.multiply(c.add(c.times(labels, alpha), c.times(c.one_minus(labels), 1.0 - alpha)), focal);
    return c.mean(focal, axis);
  }
  Labels labels() const override { return Labels::binary; }

 private:
  Number label_smoothing = 0.0, alpha = 0.25, gamma = 2.0;
  bool apply_class_balancing = false;
};

/// (1 − p^q)/q for the probability p of the label.
class CategoricalGeneralizedCrossEntropy : public Loss {
 public:
  void fields(Fields& f) override { number(f, "q", q, {0.0, 1.0, "a number between 0 and 1", true, true}); }
  ValueId values(LossCall& c) const override {
    const Shape shape = c.b.shape(c.y_pred);
    const ValueId classes = c.b.apply(graph::Iota{{shape.back()}, c.b.dtype(c.y_true), 0}, {});
    const ValueId is_label = c.b.binary(BinaryFn::equal, c.b.expand_dims(c.y_true, -1), classes);
    const ValueId p = c.sum(c.select(is_label, c.y_pred, c.number(0.0)));
    return c.divide(c.one_minus(c.b.binary(BinaryFn::power, p, c.number(q))), c.number(q));
  }
  Labels labels() const override { return Labels::classes; }

 private:
  Number q = 0.5;
};

constexpr LossInfo kLosses[] = {
    {"CategoricalCrossentropy", "categorical_crossentropy", make_loss<CategoricalCrossentropy>},
    {"SparseCategoricalCrossentropy", "sparse_categorical_crossentropy", make_loss<SparseCategoricalCrossentropy>},
    {"BinaryCrossentropy", "binary_crossentropy bce BCE", make_loss<BinaryCrossentropy>},
    {"BinaryFocalCrossentropy", "binary_focal_crossentropy", make_loss<BinaryFocalCrossentropy>},
    {"CategoricalFocalCrossentropy", "categorical_focal_crossentropy", make_loss<CategoricalFocalCrossentropy>},
    {"CategoricalGeneralizedCrossEntropy", "categorical_generalized_cross_entropy",
     make_loss<CategoricalGeneralizedCrossEntropy>},
};

}  // namespace

std::span<const LossInfo> crossentropy_losses() { return kLosses; }

}  // namespace attn::keras
