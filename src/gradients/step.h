// One node of the backward pass, and the helpers of its rule.
#pragma once

#include <vector>

#include "attn/graph/graph.h"

namespace attn::gradients {

using graph::Builder;
using graph::ValueId;

class Step {
 public:
  /// `dy` are the gradients of the node's outputs, kNone for an output that does not affect the loss. `wants` marks the
  /// inputs whose gradients are needed.
  Step(Builder& builder, const graph::Node& node, std::vector<ValueId> dy, std::vector<bool> wants)
      : b(builder), node_(node), dy_(std::move(dy)), wants_(std::move(wants)), dx_(node.inputs.size(), graph::kNone) {}

  Builder& b;

  [[nodiscard]] const graph::Node& node() const { return node_; }
  [[nodiscard]] ValueId x(std::size_t i) const { return node_.inputs[i]; }
  [[nodiscard]] ValueId y(std::size_t i = 0) const { return node_.outputs[i]; }
  [[nodiscard]] Shape shape(ValueId id) const { return b.shape(id); }
  [[nodiscard]] bool wants(std::size_t i) const { return wants_[i]; }
  /// Returns the gradient of an output: zeros if the loss does not depend on it.
  [[nodiscard]] ValueId dy(std::size_t i = 0);
  [[nodiscard]] bool has_dy(std::size_t i) const { return dy_[i] != graph::kNone; }

  /// Sets the gradient of an input; dropped if it is not needed.
  void give(std::size_t i, ValueId dx);
  /// Sets the gradient of an input that was broadcast to the shape of dx: sums dx to the input's shape. Dropped if it
  /// is not needed.
  void give_unbroadcast(std::size_t i, ValueId dx);
  /// Returns the gradients set so far, kNone for the rest.
  [[nodiscard]] const std::vector<ValueId>& dx() const { return dx_; }

  // Building blocks of rules. Scalars become constants of the other operand's dtype.
  ValueId add(ValueId x, ValueId y) { return b.binary(graph::BinaryFn::add, x, y); }
  ValueId subtract(ValueId x, ValueId y) { return b.binary(graph::BinaryFn::subtract, x, y); }
  ValueId multiply(ValueId x, ValueId y) { return b.binary(graph::BinaryFn::multiply, x, y); }
  ValueId divide(ValueId x, ValueId y) { return b.binary(graph::BinaryFn::divide, x, y); }
  ValueId times(ValueId x, double factor) { return multiply(x, b.scalar_like(x, factor)); }
  ValueId negative(ValueId x) { return b.unary(graph::UnaryFn::negative, x); }
  ValueId select(ValueId condition, ValueId x, ValueId y) { return b.apply(graph::Select{}, {condition, x, y}); }
  ValueId zeros_like(ValueId x) { return b.apply(graph::Fill{b.shape(x), b.dtype(x), 0.0}, {}); }
  ValueId broadcast(ValueId x, const Shape& shape);
  /// Returns Σ x over the axes; x itself if there are no axes.
  ValueId sum(ValueId x, std::vector<int> axes, bool keepdims = false);
  /// Returns Σ x over the axes along which a value of shape `to` was broadcast.
  ValueId unbroadcast(ValueId x, const Shape& to);

 private:
  const graph::Node& node_;
  std::vector<ValueId> dy_;
  std::vector<bool> wants_;
  std::vector<ValueId> dx_;
};

/// Returns the axes 0, …, rank − 1.
[[nodiscard]] std::vector<int> all_axes(int rank);
/// Returns the inverse of `permutation`.
[[nodiscard]] std::vector<int> inverse(const std::vector<int>& permutation);

}  // namespace attn::gradients
