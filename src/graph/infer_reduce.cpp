#include <algorithm>
#include <array>

#include "attn/base/error.h"
#include "infer.h"

namespace attn::graph {
namespace {

DType result_of(ReduceFn fn, DType dtype) {
  switch (fn) {
    case ReduceFn::sum:
    case ReduceFn::prod:
      expect_number(dtype, name_of(fn));
      return dtype;
    case ReduceFn::mean:
    case ReduceFn::logsumexp:
      expect_floating(dtype, name_of(fn));
      return dtype;
    case ReduceFn::max:
    case ReduceFn::min:
      return dtype;
    case ReduceFn::any:
    case ReduceFn::all:
      expect_bool(dtype, fmt::format("the input of {}", name_of(fn)));
      return dtype;
    case ReduceFn::argmax:
    case ReduceFn::argmin:
      return DType::int32;
  }
  return dtype;
}

// Returns whether the function needs at least one element: a maximum of no elements does not exist, but their sum is 0.
bool needs_elements(ReduceFn fn) {
  return fn == ReduceFn::max || fn == ReduceFn::min || fn == ReduceFn::argmax || fn == ReduceFn::argmin;
}

}  // namespace

Types infer_types(const LayerNorm& op, Inputs in) {
  expect_inputs(in, 1U + (op.scale ? 1U : 0U) + (op.center ? 1U : 0U));
  // In half precision, gamma and beta have the same dtype or float32.
  for (std::size_t i = 1; i < in.size(); ++i)
    if (in[i].dtype != DType::float32) expect_one_dtype(std::array{in[0], in[i]});
  if (in[0].dtype == DType::float64) expect_one_dtype(in);
  expect_floating(in[0].dtype, name_of(op));
  const Shape& x = in[0].shape;
  if (op.axes.empty()) throw bad_input("{} has no axis", name_of(op));
  expect_axes(op.axes, x.rank());
  Shape sizes;
  for (const int axis : op.axes) sizes.push_back(x[axis]);
  std::size_t next = 1;
  if (op.scale) expect_shape(in[next++].shape, sizes, "gamma");
  if (op.center) expect_shape(in[next++].shape, sizes, "beta");
  return {in[0]};
}

Types infer_types(const BatchNorm& op, Inputs in) {
  expect_inputs(in, 3U + (op.scale ? 1U : 0U) + (op.center ? 1U : 0U));
  expect_one_dtype(in);
  expect_floating(in[0].dtype, name_of(op));
  const Shape& x = in[0].shape;
  const auto axis = normalize_axis(op.axis, x.rank());
  if (!axis) throw bad_input("axis {} is outside of its input, whose shape is {}", op.axis, x.str());
  const Shape channels{x[*axis]};
  expect_shape(in[1].shape, channels, "the moving mean");
  expect_shape(in[2].shape, channels, "the moving variance");
  std::size_t next = 3;
  if (op.scale) expect_shape(in[next++].shape, channels, "gamma");
  if (op.center) expect_shape(in[next++].shape, channels, "beta");
  return {in[0]};
}

Types infer_types(const Reduce& op, Inputs in) {
  expect_inputs(in, 1);
  const DType dtype = result_of(op.fn, in[0].dtype);
  const Shape& x = in[0].shape;
  expect_axes(op.axes, x.rank());
  if ((op.fn == ReduceFn::argmax || op.fn == ReduceFn::argmin) && op.axes.size() != 1) {
    throw bad_input("{} takes one axis, not {}", name_of(op.fn), op.axes.size());
  }
  Shape out;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (std::find(op.axes.begin(), op.axes.end(), axis) == op.axes.end()) {
      out.push_back(x[axis]);
      continue;
    }
    if (x[axis] == 0 && needs_elements(op.fn)) {
      throw bad_input("{} over axis {} of {} has no elements", name_of(op.fn), axis, x.str());
    }
    if (op.keepdims) out.push_back(1);
  }
  return {{dtype, out}};
}

Types infer_types(const Cumulate& op, Inputs in) {
  expect_inputs(in, 1);
  expect_number(in[0].dtype, name_of(op));
  expect_axis(op.axis, in[0].shape.rank());
  return {in[0]};
}

}  // namespace attn::graph
