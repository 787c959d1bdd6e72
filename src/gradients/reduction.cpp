// Reductions and cumulative operations.
#include <algorithm>

#include "rules.h"

namespace attn::gradients {

using graph::BinaryFn;
using graph::ReduceFn;
using graph::UnaryFn;

namespace {

/// The gradient of each element is dy times the product of the other elements.
void product(const graph::Reduce& op, Step& step, ValueId dy) {
  Builder& b = step.b;
  const Shape shape = step.shape(step.x(0));
  std::vector<int> order;  // the kept axes, then the reduced ones
  Shape rows, whole;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (std::find(op.axes.begin(), op.axes.end(), axis) == op.axes.end()) order.push_back(axis);
  for (const int axis : order) rows.push_back(shape[axis]);
  order.insert(order.end(), op.axes.begin(), op.axes.end());
  for (const int axis : order) whole.push_back(shape[axis]);
  rows.push_back(whole.slice(rows.rank(), whole.rank()).size());
  const int last = rows.rank() - 1;
  const ValueId numbers = b.reshape(b.transpose(step.x(0), order), rows);
  const ValueId before = b.apply(graph::Cumulate{true, last, false, true}, {numbers});
  const ValueId behind = b.apply(graph::Cumulate{true, last, true, true}, {numbers});
  const ValueId others = b.transpose(b.reshape(step.multiply(before, behind), whole), inverse(order));
  step.give(0, step.multiply(others, dy));
}

/// Equal extremes share the gradient equally.
void extreme(Step& step, ValueId y, ValueId dy, const std::vector<int>& axes) {
  Builder& b = step.b;
  const ValueId hit = b.binary(BinaryFn::equal, step.x(0), y);
  const ValueId count = step.sum(b.cast(hit, b.dtype(dy)), axes, true);
  step.give(0, step.select(hit, step.divide(dy, count), b.scalar_like(dy, 0.0)));
}

}  // namespace

void differentiate(const graph::Reduce& op, Step& step) {
  Builder& b = step.b;
  const Shape shape = step.shape(step.x(0));
  Shape kept = shape;
  Dim count = 1;
  for (const int axis : op.axes) {
    count *= shape[axis];
    kept[axis] = 1;
  }
  const auto keep = [&](ValueId id) { return b.reshape(id, kept); };
  switch (op.fn) {
    case ReduceFn::sum:
      return step.give(0, step.broadcast(keep(step.dy()), shape));
    case ReduceFn::mean:
      // A rounded 1/count would make every gradient in half precision off by the error of its rounding.
      return step.give(
          0, step.broadcast(keep(step.divide(step.dy(), b.scalar_like(step.dy(), static_cast<double>(count)))), shape));
    case ReduceFn::max:
    case ReduceFn::min:
      return extreme(step, keep(step.y()), keep(step.dy()), op.axes);
    case ReduceFn::prod:
      return product(op, step, keep(step.dy()));
    case ReduceFn::logsumexp: {
      const ValueId share = b.unary(UnaryFn::exponential, step.subtract(step.x(0), keep(step.y())));
      return step.give(0, step.multiply(share, keep(step.dy())));
    }
    case ReduceFn::any:
    case ReduceFn::all:
    case ReduceFn::argmax:
    case ReduceFn::argmin:
      return;  // piecewise constant
  }
}

namespace {

/// Output y_j is the product of the x_k before it, including x_j unless exclusive. Hence the gradient of x_i is Σ_j
/// dy_j·Π_k x_k, over the j whose product contains x_i and its factors except i. It is computed as the product of the
/// factors before i, times a table of the products from i to j. (TensorFlow divides by x; 0 if an element is 0.)
void running_product(const graph::Cumulate& op, Step& step) {
  Builder& b = step.b;
  const Shape shape = step.shape(step.x(0));
  std::vector<int> order;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (axis != op.axis) order.push_back(axis);
  order.push_back(op.axis);
  const Dim n = shape[op.axis];
  if (shape.size() == 0) return step.give(0, step.dy());
  const Dim rows = shape.size() / n;
  const auto as_rows = [&](ValueId id) { return b.reshape(b.transpose(id, order), {rows, n}); };
  const ValueId x = as_rows(step.x(0)), dy = as_rows(step.dy());
  const ValueId one = b.scalar_like(x, 1.0), zero = b.scalar_like(x, 0.0);

  // (rows, i, j): x_j if j comes after i, otherwise 1, as a cumulative product from i on.
  const ValueId i = b.apply(graph::Iota{{n, 1}, DType::int32, 0}, {});
  const ValueId j = b.apply(graph::Iota{{1, n}, DType::int32, 1}, {});
  const ValueId after = b.binary(op.reverse ? BinaryFn::less : BinaryFn::greater, j, i);
  const ValueId factors = step.select(after, b.reshape(x, {rows, 1, n}), one);
  const ValueId between = b.apply(graph::Cumulate{true, 2, op.reverse, op.exclusive}, {factors});
  const ValueId counts =
      op.exclusive ? after : b.binary(op.reverse ? BinaryFn::less_equal : BinaryFn::greater_equal, j, i);
  const ValueId behind = step.sum(step.select(counts, step.multiply(between, b.reshape(dy, {rows, 1, n})), zero), {2});
  const ValueId before = b.apply(graph::Cumulate{true, 1, op.reverse, true}, {x});
  Shape moved;
  for (const int axis : order) moved.push_back(shape[axis]);
  step.give(0, b.transpose(b.reshape(step.multiply(before, behind), moved), inverse(order)));
}

}  // namespace

void differentiate(const graph::Cumulate& op, Step& step) {
  if (op.product) return running_product(op, step);
  graph::Cumulate back = op;
  back.reverse = !op.reverse;
  step.give(0, step.b.apply(back, {step.dy()}));
}

}  // namespace attn::gradients
