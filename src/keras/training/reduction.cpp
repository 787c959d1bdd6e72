#include "training/reduction.h"

#include <vector>

#include "attn/base/error.h"

namespace attn::keras {

using graph::BinaryFn;
using graph::Builder;
using graph::ValueId;

ValueId sum_of_all(Builder& b, ValueId x) {
  std::vector<int> axes;
  for (int axis = 0; axis < b.shape(x).rank(); ++axis) axes.push_back(axis);
  return axes.empty() ? x : b.apply(graph::Reduce{graph::ReduceFn::sum, axes}, {x});
}

ValueId fitted_weights(Builder& b, ValueId weights, ValueId values, const char* what) {
  const Shape have = b.shape(weights), want = b.shape(values);
  const auto adds_one = [](const Shape& more, const Shape& less) {
    return more.rank() == less.rank() + 1 && more.back() == 1 && more.slice(0, less.rank()) == less;
  };
  const bool fits = have == want || adds_one(have, want) || adds_one(want, have);
  if (!fits) throw bad_input("{} {} do not match a loss of shape {}", what, have.str(), want.str());
  return b.reshape(weights, want);
}

ValueId combined_weights(Builder& b, ValueId values, std::optional<ValueId> weights, ValueId mask) {
  const ValueId counts = b.cast(fitted_weights(b, mask, values, "the mask"), b.dtype(values));
  if (!weights) return counts;
  const ValueId fitted = fitted_weights(b, b.cast(*weights, b.dtype(values)), values, "the sample weights");
  return b.binary(BinaryFn::multiply, fitted, counts);
}

namespace {

/// Returns x/y, or 0 if y is 0.
ValueId divide_no_nan(Builder& b, ValueId x, ValueId y) {
  const ValueId none = b.binary(BinaryFn::equal, y, b.scalar_like(y, 0.0));
  const ValueId safe = b.apply(graph::Select{}, {none, b.scalar_like(y, 1.0), y});
  return b.apply(graph::Select{}, {none, b.scalar_like(x, 0.0), b.binary(BinaryFn::divide, x, safe)});
}

}  // namespace

ValueId reduced(Builder& b, ValueId values, std::optional<ValueId> weights, std::optional<ValueId> mask,
                const std::string& reduction) {
  const DType dtype = b.dtype(values);
  const bool is_mean = reduction == "sum_over_batch_size" || reduction == "mean";
  // Dice and Tversky return a single value for a whole batch. Keras repeats it for each weight.
  const std::optional<ValueId> weighing = weights ? weights : mask;
  if (b.shape(values).rank() == 0 && weighing) values = b.apply(graph::Broadcast{b.shape(*weighing)}, {values});
  if (weights) weights = fitted_weights(b, b.cast(*weights, dtype), values, "the sample weights");
  if (mask) {
    const ValueId counts = fitted_weights(b, *mask, values, "the mask");
    ValueId weight = b.cast(counts, dtype);
    if (is_mean) {  // each valid value gets the weight total/valid, so that the mean is over valid values only
      const ValueId valid = sum_of_all(b, weight);
      const ValueId total = b.scalar_like(valid, static_cast<double>(b.shape(counts).size()));
      weight = b.apply(graph::Select{}, {counts, divide_no_nan(b, total, valid), b.scalar_like(valid, 0.0)});
    }
    weights = weights ? b.binary(BinaryFn::multiply, *weights, weight) : weight;
  }
  if (weights) values = b.binary(BinaryFn::multiply, values, *weights);
  if (reduction == "none" || b.shape(values).rank() == 0) return values;
  const ValueId sum = sum_of_all(b, values);
  if (reduction == "sum") return sum;
  if (!is_mean && weights) return divide_no_nan(b, sum, sum_of_all(b, *weights));
  const double count = static_cast<double>(b.shape(values).size());
  return b.binary(BinaryFn::divide, sum, b.scalar_like(sum, count));
}

}  // namespace attn::keras
