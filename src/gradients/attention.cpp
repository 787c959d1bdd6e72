// Softmax and attention.
#include <algorithm>

#include "rules.h"

namespace attn::gradients {

using graph::BinaryFn;
using graph::SoftmaxKind;

namespace {

/// Computes y = max(x − τ, 0) with Keras's τ = (Σ_j c_j − 1)/k over the k largest numbers, the support; c_j is the sum
/// of the j largest (attn/backends/reference/softmax.cpp). Hence the r-th largest, from r = 0, contributes (k − r)/k to
/// τ if it is in the support, even if its y is 0.
void sparsemax(const graph::Softmax& op, Step& step) {
  Builder& b = step.b;
  const Shape shape = step.shape(step.x(0));
  std::vector<int> order;  // the other axes, then the reduced ones
  Dim n = 1;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (std::find(op.axes.begin(), op.axes.end(), axis) == op.axes.end()) order.push_back(axis);
  for (const int axis : op.axes) {
    order.push_back(axis);
    n *= shape[axis];
  }
  if (shape.size() == 0) return step.give(0, step.dy());
  const Dim rows = shape.size() / n;
  const auto as_rows = [&](ValueId id) { return b.reshape(b.transpose(id, order), {rows, n}); };
  const ValueId x = as_rows(step.x(0)), y = as_rows(step.y()), dy = as_rows(step.dy());
  const ValueId zero = b.scalar_like(x, 0.0), one = b.scalar_like(x, 1.0);

  // (rows, n, n): whether element `second` precedes element `first` in descending order
  const ValueId first = b.reshape(x, {rows, n, 1}), second = b.reshape(x, {rows, 1, n});
  const ValueId in_front = b.binary(BinaryFn::greater, b.apply(graph::Iota{{n, 1}, DType::int32, 0}, {}),
                                    b.apply(graph::Iota{{1, n}, DType::int32, 1}, {}));
  const ValueId as_large = b.binary(BinaryFn::logical_and, b.binary(BinaryFn::equal, first, second), in_front);
  const ValueId before = b.binary(BinaryFn::logical_or, b.binary(BinaryFn::less, first, second), as_large);
  const ValueId rank = step.sum(b.cast(before, b.dtype(x)), {2});
  const ValueId c = step.add(x, step.sum(step.select(before, second, zero), {2}));
  const ValueId mean = step.divide(step.subtract(c, one), step.add(rank, one));
  const ValueId support = b.binary(BinaryFn::greater, x, mean);

  const ValueId held = step.select(b.binary(BinaryFn::greater, y, zero), dy, zero);
  const ValueId k = step.sum(b.cast(support, b.dtype(x)), {1}, true);
  const ValueId share = step.divide(step.subtract(k, rank), k);
  const ValueId moved = step.multiply(share, step.sum(held, {1}, true));
  const ValueId dx = step.subtract(held, step.select(support, moved, zero));
  Shape back;
  for (const int axis : order) back.push_back(shape[axis]);
  step.give(0, b.transpose(b.reshape(dx, back), inverse(order)));
}

}  // namespace

void differentiate(const graph::Softmax& op, Step& step) {
  if (op.kind == SoftmaxKind::sparsemax) return sparsemax(op, step);
  const ValueId y = step.y(), dy = step.dy();
  if (op.kind == SoftmaxKind::softmax) {
    const ValueId sum = step.sum(step.multiply(y, dy), op.axes, true);
    return step.give(0, step.multiply(y, step.subtract(dy, sum)));
  }
  const ValueId probabilities = step.b.unary(graph::UnaryFn::exponential, y);
  step.give(0, step.subtract(dy, step.multiply(probabilities, step.sum(dy, op.axes, true))));
}

void differentiate(const graph::Attention& op, Step& step) {
  if (op.packed_heads > 0 || op.varlen > 0) no_gradient(step);
  // The unfuse pass has requested the log-sum-exp.
  const std::size_t lse = step.node().outputs.size() - 1;
  graph::AttentionGrad grad{op, op.bias && step.wants(3)};
  grad.forward.lse = false;
  grad.forward.scores = op.scores && step.has_dy(1);
  std::vector<ValueId> inputs = step.node().inputs;
  inputs.insert(inputs.end(), {step.y(0), step.y(lse), step.dy(0)});
  if (grad.forward.scores) inputs.push_back(step.dy(1));
  const std::vector<ValueId> gradients = step.b.apply_all(grad, inputs);
  for (std::size_t i = 0; i < gradients.size(); ++i) step.give(i, gradients[i]);
}

}  // namespace attn::gradients
