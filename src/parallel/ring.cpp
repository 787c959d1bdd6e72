#include "ring.h"

namespace attn::parallel {
namespace {

using graph::BinaryFn;
using graph::Builder;
using graph::ValueId;

/// The result for a block of keys.
struct KeyBlock {
  ValueId context, lse;  // (B,T,N,H) and (B,N,T), in float32
  Dim columns;
};

/// Returns columns [from, to) of a bias or mask, or all of it if it is broadcast along them.
ValueId columns_of(Builder& build, ValueId mask, Dim whole, Dim from, Dim to) {
  const Shape shape = build.shape(mask);
  if (shape.rank() == 0 || shape.back() != whole || whole == 1) return mask;
  graph::Slice slice;
  slice.ranges.resize(static_cast<std::size_t>(shape.rank()));
  slice.ranges.back() = {from, to, 1};
  return build.apply(slice, {mask});
}

/// Returns Σ of the blocks' contexts, weighted by e^lse / Σ e^lse. A row that sees no key in any block gets the result
/// for all blocks together. That is the mean of all values on the fused path, and 0 on the other path.
ValueId joined(Builder& build, const std::vector<KeyBlock>& blocks, Dim columns) {
  ValueId most = blocks.front().lse;
  for (std::size_t i = 1; i < blocks.size(); ++i) most = build.binary(BinaryFn::maximum, most, blocks[i].lse);
  constexpr double kLeast = -1e30;  // finite, because −∞ − (−∞) is NaN
  most = build.binary(BinaryFn::maximum, most, build.scalar_like(most, kLeast));
  std::vector<ValueId> shares;
  ValueId sum = graph::kNone;
  for (const KeyBlock& block : blocks) {
    shares.push_back(build.unary(graph::UnaryFn::exponential, build.binary(BinaryFn::subtract, block.lse, most)));
    sum = sum == graph::kNone ? shares.back() : build.binary(BinaryFn::add, sum, shares.back());
  }
  const ValueId sees_nothing = build.binary(BinaryFn::equal, sum, build.scalar_like(sum, 0.0));
  const ValueId divisor = build.apply(graph::Select{}, {sees_nothing, build.scalar_like(sum, 1.0), sum});
  ValueId context = graph::kNone;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const double even = static_cast<double>(blocks[i].columns) / static_cast<double>(columns);
    const ValueId share = build.apply(graph::Select{}, {sees_nothing, build.scalar_like(sum, even),
                                                        build.binary(BinaryFn::divide, shares[i], divisor)});
    const ValueId by_row = build.expand_dims(build.transpose(share, {0, 2, 1}), -1);  // (B,T,N,1)
    const ValueId part = build.binary(BinaryFn::multiply, blocks[i].context, by_row);
    context = context == graph::kNone ? part : build.binary(BinaryFn::add, context, part);
  }
  return context;
}

}  // namespace

void hide_by_position(Builder& build, graph::Attention& op, const Split& rows, int rank, Dim columns, Dim first,
                      std::vector<ValueId>& inputs) {
  if (!op.causal && !op.window) return;
  const auto count = [&](const Shape& shape, int axis, Dim from) {
    return build.apply(graph::Iota{shape, DType::int32, axis, static_cast<double>(from), 1.0}, {});
  };
  const ValueId row = count({1, 1, rows.size(rank), 1}, 2, rows.from(rank)),
                column = count({1, 1, 1, columns}, 3, first);
  const auto add_mask = [&](ValueId mask) {
    inputs.push_back(mask);
    ++op.masks;
  };
  if (op.causal) add_mask(build.binary(BinaryFn::greater_equal, row, column));
  if (op.window) {
    const ValueId distance = build.unary(graph::UnaryFn::absolute, build.binary(BinaryFn::subtract, row, column));
    add_mask(build.binary(BinaryFn::less, distance, build.scalar_like(distance, static_cast<double>(*op.window))));
  }
  op.causal = false;
  op.window.reset();
}

ValueId ring_attention(Builder& build, const Ring& ring) {
  const int ranks = ring.columns.ranks();
  const DType dtype = build.dtype(ring.inputs[0]);
  const DType wide = dtype == DType::float64 ? dtype : DType::float32;
  Dim all = 0;
  for (const Dim size : ring.columns.sizes) all += size;
  const Dim last_row = ring.rows.from(ring.rank) + ring.rows.size(ring.rank) - 1;
  ValueId keys = ring.inputs[1], values = ring.inputs[2];
  std::vector<KeyBlock> blocks;
  for (int turn = 0; turn < ranks; ++turn) {
    graph::Shift shift{1, ring.columns.sizes, ring.rank, turn};
    if (turn > 0) {
      keys = build.apply(shift, {keys});
      values = build.apply(shift, {values});
    }
    const int of = static_cast<int>(shift.holds(turn));
    const Dim from = ring.columns.from(of), to = from + ring.columns.size(of);
    // Skips blocks that causality hides from all rows. A row always sees itself, so no row is left without keys.
    if (ring.op.causal && ring.op.masks == 0 && from > last_row) continue;
    graph::Attention op = ring.op;
    op.lse = true;
    std::vector<ValueId> inputs = {ring.inputs[0], keys, values};
    for (std::size_t i = 3; i < ring.inputs.size(); ++i)
      inputs.push_back(columns_of(build, ring.inputs[i], all, from, to));
    hide_by_position(build, op, ring.rows, ring.rank, to - from, from, inputs);
    const std::vector<ValueId> given = build.apply_all(op, inputs);
    blocks.push_back({build.cast(given[0], wide), build.cast(given[1], wide), to - from});
  }
  return build.cast(joined(build, blocks, all), dtype);
}

}  // namespace attn::parallel
