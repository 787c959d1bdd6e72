#include "infer.h"

#include "attn/base/error.h"
#include "attn/base/size.h"

namespace attn::graph {

std::vector<TensorType> infer(const Op& op, std::span<const TensorType> inputs) {
  return std::visit([inputs](const auto& alternative) { return infer_types(alternative, inputs); }, op);
}

void expect_inputs(Inputs in, std::size_t count) {
  if (in.size() != count) throw internal_error("an operation of {} inputs was given {}", count, in.size());
}

void expect_one_dtype(Inputs in) {
  for (const TensorType& type : in) {
    if (type.dtype != in.front().dtype) {
      throw bad_input("its inputs are {} and {}, and they must have one dtype", name_of(in.front().dtype),
                      name_of(type.dtype));
    }
  }
}

void expect_floating(DType dtype, std::string_view what) {
  if (!is_floating(dtype)) throw bad_input("{} needs floating-point numbers, its input is {}", what, name_of(dtype));
}

void expect_number(DType dtype, std::string_view what) {
  if (dtype == DType::boolean) throw bad_input("{} needs numbers, its input is bool", what);
}

void expect_bool(DType dtype, std::string_view what) {
  if (dtype != DType::boolean) throw bad_input("{} must be bool, it is {}", what, name_of(dtype));
}

void expect_rank(const Shape& shape, int rank, std::string_view what) {
  if (shape.rank() != rank) throw bad_input("{} must have {} axes, its shape is {}", what, rank, shape.str());
}

void expect_shape(const Shape& shape, const Shape& expected, std::string_view what) {
  bool fits = shape.rank() == expected.rank();
  for (int axis = 0; fits && axis < shape.rank(); ++axis) fits = agree(shape[axis], expected[axis]);
  if (!fits) throw bad_input("the shape of {} is {}, where {} is expected", what, shape.str(), expected.str());
}

void expect_type(const TensorType& type, const TensorType& expected, std::string_view what) {
  if (type.dtype != expected.dtype)
    throw bad_input("{} must be {}, it is {}", what, name_of(expected.dtype), name_of(type.dtype));
  expect_shape(type.shape, expected.shape, what);
}

void expect_axis(int axis, int rank) {
  if (axis < 0 || axis >= rank) throw bad_input("axis {} is outside of its input, which has {} axes", axis, rank);
}

void expect_axes(std::span<const int> axes, int rank) {
  int previous = -1;
  for (const int axis : axes) {
    expect_axis(axis, rank);
    if (axis <= previous) throw bad_input("axis {} comes after axis {}, and axes must ascend", axis, previous);
    previous = axis;
  }
}

void expect_dims(const Shape& shape) {
  for (const Dim dim : shape) {
    if (dim < kUnknown) throw bad_input("a shape has the dimension {}", dim);
  }
}

Dim add_dims(Dim a, Dim b) {
  if (a == kUnknown || b == kUnknown) return kUnknown;
  const auto sum = checked_add(a, b);
  if (!sum) throw Error(ExitCode::no_memory, fmt::format("a dimension of {} + {} is too large", a, b));
  return *sum;
}

}  // namespace attn::graph
