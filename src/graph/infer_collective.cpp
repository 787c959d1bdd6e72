#include <algorithm>
#include <numeric>

#include "attn/base/error.h"
#include "infer.h"

namespace attn::graph {
namespace {

/// Checks the shards of an axis, and returns the size of the whole axis.
Dim whole_of(int axis, const std::vector<Dim>& sizes, int rank, const Shape& x) {
  expect_axis(axis, x.rank());
  if (rank < 0 || rank >= static_cast<int>(sizes.size())) throw bad_input("rank {} not below {}", rank, sizes.size());
  if (std::ranges::any_of(sizes, [](Dim size) { return size < 0; })) throw bad_input("a rank has less than nothing");
  return std::accumulate(sizes.begin(), sizes.end(), Dim{0});
}

void expect_part(const Shape& x, int axis, Dim size) {
  if (!agree(x[axis], size)) throw bad_input("axis {} of {} is to have {} indices", axis, x.str(), size);
}

Types with_size(const TensorType& x, int axis, Dim size) {
  TensorType type = x;
  type.shape[axis] = size;
  return {type};
}

}  // namespace

Types infer_types(const AllReduce&, Inputs in) {
  expect_inputs(in, 1);
  expect_number(in[0].dtype, "an all-reduce");
  return {in[0]};
}

Types infer_types(const AllGather& op, Inputs in) {
  expect_inputs(in, 1);
  const Dim whole = whole_of(op.axis, op.sizes, op.rank, in[0].shape);
  expect_part(in[0].shape, op.axis, op.sizes[static_cast<std::size_t>(op.rank)]);
  return with_size(in[0], op.axis, whole);
}

Types infer_types(const ReduceScatter& op, Inputs in) {
  expect_inputs(in, 1);
  expect_number(in[0].dtype, "an all-reduce");
  expect_part(in[0].shape, op.axis, whole_of(op.axis, op.sizes, op.rank, in[0].shape));
  return with_size(in[0], op.axis, op.sizes[static_cast<std::size_t>(op.rank)]);
}

Types infer_types(const Shift& op, Inputs in) {
  expect_inputs(in, 1);
  static_cast<void>(whole_of(op.axis, op.sizes, op.rank, in[0].shape));
  expect_part(in[0].shape, op.axis, op.sizes[op.holds(op.turns - 1)]);
  return with_size(in[0], op.axis, op.sizes[op.holds(op.turns)]);
}

}  // namespace attn::graph
