// A Keras loss: its fields, and its computation from targets and predictions.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/keras/loss_graph.h"
#include "config/fields.h"

namespace attn::keras {

/// The targets and predictions of a loss, with the small operations that losses consist of.
class LossCall {
 public:
  LossCall(graph::Builder& builder, graph::ValueId targets, graph::ValueId predictions)
      : b(builder), y_true(targets), y_pred(predictions) {}

  graph::Builder& b;
  graph::ValueId y_true;  ///< in the dtype of y_pred, or integers if the targets are classes
  graph::ValueId y_pred;
  /// The logits, if a softmax or sigmoid computed y_pred from them; in the dtype of y_pred. Losses of probabilities use
  /// them, as in Keras (keras/src/backend/tensorflow/nn.py, _get_logits).
  std::optional<graph::ValueId> logits;
  /// Bool, true for the values that count; empty: all count.
  std::optional<graph::ValueId> mask;

  [[nodiscard]] int rank() const { return b.shape(y_pred).rank(); }
  [[nodiscard]] graph::ValueId number(double value) { return b.scalar_like(y_pred, value); }
  [[nodiscard]] graph::ValueId add(graph::ValueId x, graph::ValueId y) { return b.binary(graph::BinaryFn::add, x, y); }
  [[nodiscard]] graph::ValueId subtract(graph::ValueId x, graph::ValueId y) {
    return b.binary(graph::BinaryFn::subtract, x, y);
  }
  [[nodiscard]] graph::ValueId multiply(graph::ValueId x, graph::ValueId y) {
    return b.binary(graph::BinaryFn::multiply, x, y);
  }
  [[nodiscard]] graph::ValueId divide(graph::ValueId x, graph::ValueId y) {
    return b.binary(graph::BinaryFn::divide, x, y);
  }
  [[nodiscard]] graph::ValueId maximum(graph::ValueId x, double y) {
    return b.binary(graph::BinaryFn::maximum, x, number(y));
  }
  [[nodiscard]] graph::ValueId times(graph::ValueId x, double factor) { return multiply(x, number(factor)); }
  [[nodiscard]] graph::ValueId one_minus(graph::ValueId x) { return subtract(number(1.0), x); }
  [[nodiscard]] graph::ValueId unary(graph::UnaryFn fn, graph::ValueId x) { return b.unary(fn, x); }
  [[nodiscard]] graph::ValueId clip(graph::ValueId x, double low, double high) {
    return b.unary(graph::UnaryFn::clip, x, low, high);
  }
  [[nodiscard]] graph::ValueId select(graph::ValueId condition, graph::ValueId x, graph::ValueId y) {
    return b.apply(graph::Select{}, {condition, x, y});
  }
  /// Reduces one axis, counted from the back if negative. Throws Error (bad_input) if x has no such axis.
  [[nodiscard]] graph::ValueId reduce(graph::ReduceFn fn, graph::ValueId x, std::int64_t axis = -1,
                                      bool keepdims = false);
  [[nodiscard]] graph::ValueId mean(graph::ValueId x, std::int64_t axis = -1) {
    return reduce(graph::ReduceFn::mean, x, axis);
  }
  [[nodiscard]] graph::ValueId sum(graph::ValueId x, std::int64_t axis = -1, bool keepdims = false) {
    return reduce(graph::ReduceFn::sum, x, axis, keepdims);
  }
};

/// The value of keras.backend.epsilon().
inline constexpr double kLossEpsilon = 1e-7;

class Loss {
 public:
  virtual ~Loss() = default;

  std::string name;
  std::optional<std::string> reduction = "sum_over_batch_size";

  /// Reads or writes the fields of the class.
  virtual void fields(Fields&) {}
  /// Returns one value for each prediction: in the shape of y_pred without its last axis, unless the class documents
  /// another shape.
  [[nodiscard]] virtual graph::ValueId values(LossCall& call) const = 0;
  /// Returns whether targets and predictions of these shapes match: they are equal, except that predictions may have
  /// one more axis for classes.
  [[nodiscard]] virtual bool takes(const Shape& /*targets*/, const Shape& /*predictions*/) const { return false; }
  /// Returns the meaning of the targets.
  [[nodiscard]] virtual Labels labels() const { return Labels::numbers; }
  /// For classes: returns whether a label outside the classes, except the ignored one, is an error.
  [[nodiscard]] virtual bool is_bounded() const { return false; }
  [[nodiscard]] virtual std::optional<std::int64_t> ignored() const { return std::nullopt; }
};

using LossPtr = std::unique_ptr<Loss>;

/// The record of a loss class.
struct LossInfo {
  std::string_view name;       ///< "MeanSquaredError"
  std::string_view functions;  ///< names of the function, Keras's name first: "mean_squared_error mse MSE"
  LossPtr (*make)();
  /// Whether the function adds or removes a last axis of size 1 if only targets or predictions have it. Losses always
  /// do, but metrics call only the function.
  bool matches_ranks = false;
};

template <typename T>
[[nodiscard]] LossPtr make_loss() {
  return std::make_unique<T>();
}

/// Records in regression.cpp, crossentropy.cpp, batch_losses.cpp.
[[nodiscard]] std::span<const LossInfo> regression_losses();
[[nodiscard]] std::span<const LossInfo> crossentropy_losses();
[[nodiscard]] std::span<const LossInfo> batch_losses();

/// Returns the record of a class, by the name of the class or of its function; null if no loss has that name.
[[nodiscard]] const LossInfo* find_loss(std::string_view name);

/// Reads a loss from the name of a class or function, or from its serialized object. "crossentropy" is resolved by the
/// shapes `predictions` and `targets`. Throws Error (bad_input), for an unknown name with the most similar one.
[[nodiscard]] LossPtr read_loss(const Ref& ref, const Shape& predictions, const std::optional<Shape>& targets);

}  // namespace attn::keras
