// Regression losses (keras/src/losses/losses.py).
#include <algorithm>
#include <numbers>

#include "config/bounded_fields.h"
#include "training/loss.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::ReduceFn;
using graph::UnaryFn;
using graph::ValueId;

class MeanSquaredError : public Loss {
 public:
  ValueId values(LossCall& c) const override {
    return c.mean(c.unary(UnaryFn::square, c.subtract(c.y_true, c.y_pred)));
  }
};

class MeanAbsoluteError : public Loss {
 public:
  ValueId values(LossCall& c) const override {
    return c.mean(c.unary(UnaryFn::absolute, c.subtract(c.y_true, c.y_pred)));
  }
};

class MeanAbsolutePercentageError : public Loss {
 public:
  ValueId values(LossCall& c) const override {
    const ValueId size = c.maximum(c.unary(UnaryFn::absolute, c.y_true), kLossEpsilon);
    const ValueId share = c.unary(UnaryFn::absolute, c.divide(c.subtract(c.y_true, c.y_pred), size));
    return c.times(c.mean(share), 100.0);
  }
};

class MeanSquaredLogarithmicError : public Loss {
 public:
  ValueId values(LossCall& c) const override {
    const auto log = [&](ValueId x) { return c.unary(UnaryFn::log, c.add(c.maximum(x, kLossEpsilon), c.number(1.0))); };
    const ValueId pred = log(c.y_pred);
    return c.mean(c.unary(UnaryFn::square, c.subtract(pred, log(c.y_true))));
  }
  Labels labels() const override { return Labels::positive; }
};

class CosineSimilarity : public Loss {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  ValueId values(LossCall& c) const override {
    const auto normal = [&](ValueId x) {
      const ValueId root = c.unary(UnaryFn::rsqrt, c.sum(c.unary(UnaryFn::square, x), axis, true));
      return c.multiply(x, c.b.binary(BinaryFn::minimum, root, c.number(1.0 / kLossEpsilon)));
    };
    const ValueId pred = normal(c.y_pred);
    return c.unary(UnaryFn::negative, c.sum(c.multiply(normal(c.y_true), pred), axis));
  }

 private:
  std::int64_t axis = -1;
};

class Huber : public Loss {
 public:
  void fields(Fields& f) override { number(f, "delta", delta, kNotNegative); }
  ValueId values(LossCall& c) const override {
    const ValueId error = c.subtract(c.y_pred, c.y_true), size = c.unary(UnaryFn::absolute, error);
    const ValueId near = c.b.binary(BinaryFn::less_equal, size, c.number(delta));
    const ValueId line = c.subtract(c.times(size, delta), c.number(0.5 * delta * delta));
    return c.mean(c.select(near, c.times(c.unary(UnaryFn::square, error), 0.5), line));
  }

 private:
  Number delta = 1.0;
};

class LogCosh : public Loss {
 public:
  ValueId values(LossCall& c) const override {
    const ValueId error = c.subtract(c.y_pred, c.y_true);
    const ValueId both = c.add(error, c.unary(UnaryFn::softplus, c.times(error, -2.0)));
    return c.mean(c.subtract(both, c.number(std::numbers::ln2)));
  }
};

class Poisson : public Loss {
 public:
  ValueId values(LossCall& c) const override {
    const ValueId log = c.unary(UnaryFn::log, c.add(c.y_pred, c.number(kLossEpsilon)));
    return c.mean(c.subtract(c.y_pred, c.multiply(c.y_true, log)));
  }
  Labels labels() const override { return Labels::positive; }
};

class KLDivergence : public Loss {
 public:
  ValueId values(LossCall& c) const override {
    const ValueId p = c.clip(c.y_true, kLossEpsilon, 1.0), q = c.clip(c.y_pred, kLossEpsilon, 1.0);
    return c.sum(c.multiply(p, c.unary(UnaryFn::log, c.divide(p, q))));
  }
  Labels labels() const override { return Labels::probabilities; }
};

/// Maps labels that are all 0 or 1 to −1 and 1.
ValueId signs(LossCall& c) {
  const ValueId zero = c.b.binary(BinaryFn::equal, c.y_true, c.number(0.0));
  const ValueId one = c.b.binary(BinaryFn::equal, c.y_true, c.number(1.0));
  ValueId all = c.b.binary(BinaryFn::logical_or, zero, one);
  std::vector<int> axes;
  for (int axis = 0; axis < c.b.shape(all).rank(); ++axis) axes.push_back(axis);
  all = c.b.apply(graph::Reduce{ReduceFn::all, axes}, {all});
  return c.select(all, c.subtract(c.times(c.y_true, 2.0), c.number(1.0)), c.y_true);
}

class Hinge : public Loss {
 public:
  ValueId values(LossCall& c) const override { return c.mean(distance(c)); }
  Labels labels() const override { return Labels::binary; }

 protected:
  static ValueId distance(LossCall& c) { return c.maximum(c.one_minus(c.multiply(signs(c), c.y_pred)), 0.0); }
};

class SquaredHinge : public Hinge {
 public:
  ValueId values(LossCall& c) const override { return c.mean(c.unary(UnaryFn::square, distance(c))); }
};

class CategoricalHinge : public Loss {
 public:
  ValueId values(LossCall& c) const override {
    const ValueId right = c.sum(c.multiply(c.y_true, c.y_pred));
    const ValueId wrong = c.reduce(ReduceFn::max, c.multiply(c.one_minus(c.y_true), c.y_pred));
    return c.maximum(c.add(c.subtract(wrong, right), c.number(1.0)), 0.0);
  }
  Labels labels() const override { return Labels::one_hot; }
};

/// Returns the sum over `axis`; over all axes if it is null.
ValueId total(LossCall& c, ValueId x, const std::optional<Axes>& axis) {
  const int rank = c.b.shape(x).rank();
  std::vector<int> axes;
  if (axis) {
    const auto* one = std::get_if<std::int64_t>(&*axis);
    for (const std::int64_t at : one != nullptr ? std::vector{*one} : std::get<std::vector<std::int64_t>>(*axis)) {
      const auto found = normalize_axis(at, rank);
      if (!found) throw bad_input("axis {} is outside of predictions {}", at, c.b.shape(x).str());
      axes.push_back(*found);
    }
    std::sort(axes.begin(), axes.end());
    if (std::ranges::adjacent_find(axes) != axes.end()) throw bad_input("a loss over one axis twice");
  } else {
    for (int at = 0; at < rank; ++at) axes.push_back(at);
  }
  return c.b.apply(graph::Reduce{ReduceFn::sum, axes}, {x});
}

/// The Dice loss; a single value for the batch if no axis is given.
class Dice : public Loss {
 public:
  void fields(Fields& f) override { f("axis", axis); }
  ValueId values(LossCall& c) const override {
    const ValueId both = c.times(total(c, c.multiply(c.y_true, c.y_pred), axis), 2.0);
    const ValueId sums = c.add(total(c, c.y_true, axis), total(c, c.y_pred, axis));
    return c.one_minus(c.divide(both, c.add(sums, c.number(kLossEpsilon))));
  }
  Labels labels() const override { return Labels::binary; }

 private:
  std::optional<Axes> axis;
};

class Tversky : public Loss {
 public:
  void fields(Fields& f) override {
    number(f, "alpha", alpha, kFinite);
    number(f, "beta", beta, kFinite);
    f("axis", axis);
  }
  ValueId values(LossCall& c) const override {
    const ValueId both = total(c, c.multiply(c.y_true, c.y_pred), axis);
    const ValueId missed = total(c, c.multiply(c.one_minus(c.y_pred), c.y_true), axis);
    const ValueId false_ones = total(c, c.multiply(c.y_pred, c.one_minus(c.y_true)), axis);
    const ValueId all = c.add(c.add(both, c.times(missed, alpha)), c.times(false_ones, beta));
    return c.one_minus(c.divide(both, c.add(all, c.number(kLossEpsilon))));
  }
  Labels labels() const override { return Labels::binary; }

 private:
  Number alpha = 0.5, beta = 0.5;
  std::optional<Axes> axis;
};

constexpr LossInfo kRegressionLosses[] = {
    {"MeanSquaredError", "mean_squared_error mse MSE", make_loss<MeanSquaredError>, true},
    {"MeanAbsoluteError", "mean_absolute_error mae MAE", make_loss<MeanAbsoluteError>, true},
    {"MeanAbsolutePercentageError", "mean_absolute_percentage_error mape MAPE", make_loss<MeanAbsolutePercentageError>,
     true},
    {"MeanSquaredLogarithmicError", "mean_squared_logarithmic_error msle MSLE", make_loss<MeanSquaredLogarithmicError>,
     true},
    {"CosineSimilarity", "cosine_similarity", make_loss<CosineSimilarity>, true},
    {"Huber", "huber huber_loss", make_loss<Huber>, true},
    {"LogCosh", "log_cosh logcosh", make_loss<LogCosh>, true},
    {"Poisson", "poisson", make_loss<Poisson>},
    {"KLDivergence", "kl_divergence kld KLD kullback_leibler_divergence", make_loss<KLDivergence>},
    {"Hinge", "hinge", make_loss<Hinge>},
    {"SquaredHinge", "squared_hinge", make_loss<SquaredHinge>},
    {"CategoricalHinge", "categorical_hinge", make_loss<CategoricalHinge>},
    {"Dice", "dice", make_loss<Dice>},
    {"Tversky", "tversky", make_loss<Tversky>},
};

}  // namespace

std::span<const LossInfo> regression_losses() { return kRegressionLosses; }

}  // namespace attn::keras
