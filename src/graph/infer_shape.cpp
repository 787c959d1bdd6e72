#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/graph/range.h"
#include "infer.h"

namespace attn::graph {

Types infer_types(const Reshape& op, Inputs in) {
  expect_inputs(in, 1);
  expect_dims(op.shape);
  const Shape& x = in[0].shape;
  Shape out = op.shape;
  if (!x.known()) return {{in[0].dtype, out}};

  const std::int64_t elements = x.size();
  const auto open = std::count(out.begin(), out.end(), kUnknown);
  if (open > 1) throw bad_input("the target {} leaves more than one axis open", out.str());
  std::int64_t given = 1;
  int open_axis = -1;
  for (int axis = 0; axis < out.rank(); ++axis) {
    if (out[axis] == kUnknown) {
      open_axis = axis;
    } else {
      given = checked_mul(given, out[axis]).value_or(kMaxSize);
    }
  }
  const bool fits = open == 0 ? given == elements : given != 0 && elements % given == 0;
  if (!fits) throw bad_input("{} elements of {} cannot take the shape {}", elements, x.str(), out.str());
  if (open_axis >= 0) out[open_axis] = elements / given;
  return {{in[0].dtype, out}};
}

Types infer_types(const Transpose& op, Inputs in) {
  expect_inputs(in, 1);
  const Shape& x = in[0].shape;
  std::vector<int> sorted = op.permutation;
  std::sort(sorted.begin(), sorted.end());
  bool permutes = static_cast<int>(sorted.size()) == x.rank();
  for (int axis = 0; permutes && axis < x.rank(); ++axis) permutes = sorted[static_cast<std::size_t>(axis)] == axis;
  if (!permutes) {
    throw bad_input("({}) is no permutation of the axes of {}", fmt::join(op.permutation, ", "), x.str());
  }
  Shape out;
  for (const int axis : op.permutation) out.push_back(x[axis]);
  return {{in[0].dtype, out}};
}

Types infer_types(const Broadcast& op, Inputs in) {
  expect_inputs(in, 1);
  expect_dims(op.shape);
  const Shape& x = in[0].shape;
  Shape out = op.shape;
  bool fits = x.rank() <= out.rank();
  for (int axis = 0; fits && axis < x.rank(); ++axis) {
    const Dim from = x[axis];
    Dim& to = out[axis + out.rank() - x.rank()];
    fits = from == 1 || agree(from, to);
    if (to == kUnknown && from != 1) to = from;
  }
  if (!fits) throw bad_input("{} does not broadcast to {}", x.str(), op.shape.str());
  return {{in[0].dtype, out}};
}

Types infer_types(const Concat& op, Inputs in) {
  if (in.empty()) throw bad_input("there is nothing to concatenate");
  expect_one_dtype(in);
  Shape out = in[0].shape;
  expect_axis(op.axis, out.rank());
  for (const TensorType& type : in.subspan(1)) {
    const Shape& x = type.shape;
    bool fits = x.rank() == out.rank();
    for (int axis = 0; fits && axis < x.rank(); ++axis) {
      if (axis == op.axis) continue;
      fits = agree(out[axis], x[axis]);
      if (fits) out[axis] = merge(out[axis], x[axis]);
    }
    if (!fits) {
      throw bad_input("{} and {} cannot be concatenated along axis {}", in[0].shape.str(), x.str(), op.axis);
    }
    out[op.axis] = add_dims(out[op.axis], x[op.axis]);
  }
  return {{in[0].dtype, out}};
}

Types infer_types(const Slice& op, Inputs in) {
  expect_inputs(in, 1);
  const Shape& x = in[0].shape;
  if (static_cast<int>(op.ranges.size()) != x.rank()) {
    throw bad_input("{} ranges do not fit {}, which has {} axes", op.ranges.size(), x.str(), x.rank());
  }
  Shape out;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Range& range = op.ranges[static_cast<std::size_t>(axis)];
    // A slice of an unknown axis has an unknown size, even [:1], as in Keras's GetItem.compute_output_spec.
    const Dim dim = x[axis];
    const ResolvedSlice picked = pick(range, std::max<Dim>(dim, 0));
    out.push_back(dim == kUnknown ? kUnknown : picked.count);
  }
  return {{in[0].dtype, out}};
}

Types infer_types(const Pad& op, Inputs in) {
  expect_inputs(in, 1);
  const Shape& x = in[0].shape;
  const auto rank = static_cast<std::size_t>(x.rank());
  if (op.before.size() != rank || op.after.size() != rank) {
    throw bad_input("{} paddings do not fit {}, which has {} axes", op.before.size(), x.str(), rank);
  }
  Shape out;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t before = op.before[static_cast<std::size_t>(axis)];
    const std::int64_t after = op.after[static_cast<std::size_t>(axis)];
    const Dim dim = x[axis];
    if (before < 0 || after < 0) throw bad_input("the padding of axis {} is negative", axis);
    const std::int64_t most = std::max(before, after);
    if (dim != kUnknown && most > 0) {
      const bool too_much = (op.mode == PadMode::reflect && most >= dim) ||
                            (op.mode == PadMode::symmetric && most > dim) || (op.mode == PadMode::edge && dim == 0);
      if (too_much) throw bad_input("axis {} of {} is too short for a padding of {}", axis, x.str(), most);
    }
    out.push_back(add_dims(add_dims(dim, before), after));
  }
  return {{in[0].dtype, out}};
}

Types infer_types(const Gather& op, Inputs in) {
  expect_inputs(in, 2);
  const Shape& table = in[0].shape;
  expect_axis(op.axis, table.rank());
  if (!is_integer(in[1].dtype)) throw bad_input("indices must be integers, they are {}", name_of(in[1].dtype));
  Shape out = table.slice(0, op.axis);
  out.append(in[1].shape);
  out.append(table.slice(op.axis + 1, table.rank()));
  return {{in[0].dtype, out}};
}

Types infer_types(const Iota& op, Inputs in) {
  expect_inputs(in, 0);
  expect_dims(op.shape);
  expect_axis(op.axis, op.shape.rank());
  expect_number(op.dtype, "iota");
  return {{op.dtype, op.shape}};
}

Types infer_types(const Fill& op, Inputs in) {
  expect_inputs(in, 0);
  expect_dims(op.shape);
  return {{op.dtype, op.shape}};
}

}  // namespace attn::graph
