// Operations that move elements.
#include <algorithm>

#include "attn/graph/range.h"
#include "rules.h"

namespace attn::gradients {

void differentiate(const graph::Reshape&, Step& step) {
  step.give(0, step.b.reshape(step.dy(), step.shape(step.x(0))));
}

void differentiate(const graph::Transpose& op, Step& step) {
  step.give(0, step.b.transpose(step.dy(), inverse(op.permutation)));
}

void differentiate(const graph::Broadcast&, Step& step) { step.give_unbroadcast(0, step.dy()); }

namespace {

/// Returns ranges that cover an entire array of this rank.
std::vector<graph::Range> whole(int rank) { return std::vector<graph::Range>(static_cast<std::size_t>(rank)); }

}  // namespace

void differentiate(const graph::Concat& op, Step& step) {
  Dim first = 0;
  for (std::size_t i = 0; i < step.node().inputs.size(); ++i) {
    const Shape shape = step.shape(step.x(i));
    const Dim behind = first + shape[op.axis];
    if (step.wants(i)) {
      graph::Slice part{whole(shape.rank())};
      part.ranges[static_cast<std::size_t>(op.axis)] = {first, behind};
      step.give(i, step.b.apply(part, {step.dy()}));
    }
    first = behind;
  }
}

void differentiate(const graph::Slice& op, Step& step) {
  const Shape shape = step.shape(step.x(0)), taken = step.shape(step.y());
  graph::Pad pad;
  bool is_block = true;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const graph::ResolvedSlice picked = graph::pick(op.ranges[static_cast<std::size_t>(axis)], shape[axis]);
    is_block = is_block && picked.step == 1;
    pad.before.push_back(picked.start);
    pad.after.push_back(shape[axis] - picked.start - taken[axis]);
  }
  if (is_block && taken.size() > 0) return step.give(0, step.b.apply(pad, {step.dy()}));
  step.give(0, step.b.apply(graph::Scatter{shape, op.ranges}, {step.dy()}));
}

namespace {

/// Returns the index within an axis of n elements that corresponds to `place`, which may lie outside: indices are
/// reflected at the ends.
std::int64_t source(graph::PadMode mode, std::int64_t place, Dim n) {
  if (mode == graph::PadMode::edge) return std::min(std::max<std::int64_t>(place, 0), n - 1);
  const bool reflect = mode == graph::PadMode::reflect;
  const std::int64_t period = reflect ? std::max<std::int64_t>(1, 2 * (n - 1)) : 2 * n;
  place = ((place % period) + period) % period;
  return place < n ? place : (reflect ? period : period - 1) - place;
}

}  // namespace

void differentiate(const graph::Pad& op, Step& step) {
  Builder& b = step.b;
  const Shape shape = step.shape(step.x(0));
  ValueId dx = step.dy();
  if (op.mode == graph::PadMode::constant) {
    graph::Slice inside{whole(shape.rank())};
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const std::int64_t before = op.before[static_cast<std::size_t>(axis)];
      inside.ranges[static_cast<std::size_t>(axis)] = {before, before + shape[axis]};
    }
    return step.give(0, b.apply(inside, {dx}));
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const Dim padded = b.shape(dx)[axis];
    if (padded == shape[axis]) continue;
    Tensor cells(DType::int64, {padded});
    const std::span<std::int64_t> cell = cells.as<std::int64_t>();
    for (std::size_t i = 0; i < cell.size(); ++i)
      cell[i] = source(op.mode, static_cast<std::int64_t>(i) - op.before[static_cast<std::size_t>(axis)], shape[axis]);
    dx = b.apply(graph::ScatterAdd{axis, shape[axis]}, {dx, b.constant(cells)});
  }
  step.give(0, dx);
}

void differentiate(const graph::Gather& op, Step& step) {
  const Dim size = step.shape(step.x(0))[op.axis];
  step.give(0, step.b.apply(graph::ScatterAdd{op.axis, size}, {step.dy(), step.x(1)}));
}

void differentiate(const graph::Scatter& op, Step& step) {
  step.give(0, step.b.apply(graph::Slice{op.ranges}, {step.dy()}));
}

void differentiate(const graph::ScatterAdd& op, Step& step) {
  step.give(0, step.b.apply(graph::Gather{op.axis}, {step.dy(), step.x(1)}));
}

// Without inputs, nothing receives a gradient.
void differentiate(const graph::Iota&, Step&) {}
void differentiate(const graph::Fill&, Step&) {}

}  // namespace attn::gradients
