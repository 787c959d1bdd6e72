#include "attn/base/error.h"
#include "infer.h"

namespace attn::graph {
namespace {

void expect_bytes(DType dtype, std::string_view what) {
  if (dtype != DType::int8 && dtype != DType::uint8)
    throw bad_input("{} must be int8 or uint8, it is {}", what, name_of(dtype));
}

/// Returns the bytes of `size` packed 4-bit integers.
Dim bytes_for(Dim size) { return size == kUnknown ? kUnknown : size / 2 + size % 2; }

/// Returns the result dtype of a dense map of x and a scale: theirs, or float32 if only one is half precision.
DType result_dtype(DType x, DType scale) {
  if (x == scale) return x;
  if (x != DType::float32 && scale != DType::float32)
    throw bad_input("x is {} and the scale {}, and one of them must be float32", name_of(x), name_of(scale));
  return DType::float32;
}

/// Checks the kernel's shape against K and M, where `depth` are the contracted axes of x.
void expect_kernel(const QuantizedLinear& op, const Shape& kernel, const Shape& depth) {
  const Dim inputs = depth.elements().value_or(kUnknown), outputs = op.units.elements().value_or(kUnknown);
  Shape expected;
  if (op.pairs == Pairs::none) {
    expected = op.transposed ? op.units : depth;
    expected.append(op.transposed ? depth : op.units);
  } else {
    const Dim k = op.pairs == Pairs::inputs ? bytes_for(inputs) : inputs;
    const Dim m = op.pairs == Pairs::outputs ? bytes_for(outputs) : outputs;
    expected = op.transposed ? Shape{m, k} : Shape{k, m};
  }
  expect_shape(kernel, expected, "the kernel");
}

}  // namespace

Types infer_types(const Quantize& op, Inputs in) {
  expect_inputs(in, 1);
  expect_floating(in[0].dtype, "quantizing");
  expect_axes(op.axes, in[0].shape.rank());
  if (op.range.low < -128.0 || op.range.high > 127.0 || !(op.range.low < op.range.high))
    throw bad_input("the range {} to {} is not valid for int8", op.range.low, op.range.high);
  Shape scale = in[0].shape;
  for (const int axis : op.axes) scale[axis] = 1;
  return {{DType::int8, in[0].shape}, {in[0].dtype, scale}};
}

Types infer_types(const Dequantize& op, Inputs in) {
  expect_inputs(in, op.group_axis ? 4 : 2);
  expect_bytes(in[0].dtype, "the quantized array");
  expect_floating(in[1].dtype, "a scale");
  Shape out = in[0].shape;
  if (op.nibbles) {
    expect_axis(op.nibbles->axis, out.rank());
    if (!agree(out[op.nibbles->axis], bytes_for(op.nibbles->size)))
      throw bad_input("{} integers of 4 bits take {} bytes, there are {}", op.nibbles->size,
                      bytes_for(op.nibbles->size), out[op.nibbles->axis]);
    out[op.nibbles->axis] = op.nibbles->size;
  }
  if (!op.group_axis) {
    const auto both = broadcast(out, in[1].shape);
    if (!both || both->rank() != out.rank())
      throw bad_input("a scale of {} does not fit {}", in[1].shape.str(), out.str());
    return {{in[1].dtype, out}};
  }
  expect_axis(*op.group_axis, out.rank());
  Shape scale = out;
  scale[*op.group_axis] = in[1].shape.rank() == out.rank() ? in[1].shape[*op.group_axis] : kUnknown;
  expect_shape(in[1].shape, scale, "the scale");
  expect_shape(in[2].shape, scale, "the zero points");
  expect_number(in[2].dtype, "a zero point");
  expect_type(in[3], {DType::int32, Shape{out[*op.group_axis]}}, "the groups");
  return {{in[1].dtype, out}};
}

Types infer_types(const QuantizedLinear& op, Inputs in) {
  expect_inputs(in, 3U + (op.grouped ? 2U : 0U) + (op.bias ? 1U : 0U) + (op.residual ? 1U : 0U));
  expect_floating(in[0].dtype, "a dense map by integers");
  expect_bytes(in[1].dtype, "the kernel");
  expect_floating(in[2].dtype, "a scale");
  const Shape& x = in[0].shape;
  const int n = op.contracted;
  if (n < 1 || n > x.rank()) throw bad_input("{} axes of x {} cannot be contracted", n, x.str());
  const Shape depth = x.slice(x.rank() - n, x.rank());
  expect_kernel(op, in[1].shape, depth);
  const Dim outputs = op.units.elements().value_or(kUnknown), inputs = depth.elements().value_or(kUnknown);
  std::size_t next = 3;
  if (op.grouped) {
    const int axis = op.transposed ? 1 : 0;
    if (in[2].shape.rank() != 2)
      throw bad_input("the scale of groups must have 2 axes, its shape is {}", in[2].shape.str());
    const Dim groups = in[2].shape[axis];
    const Shape scale = op.transposed ? Shape{outputs, groups} : Shape{groups, outputs};
    expect_shape(in[2].shape, scale, "the scale");
    expect_shape(in[3].shape, scale, "the zero points");
    expect_number(in[3].dtype, "a zero point");
    expect_type(in[4], {DType::int32, Shape{inputs}}, "the groups");
    next = 5;
  } else if (!agree(in[2].shape.elements().value_or(kUnknown), outputs)) {
    throw bad_input("a scale of {} does not fit {} outputs", in[2].shape.str(), outputs);
  }
  Shape out = x.slice(0, x.rank() - n);
  out.append(op.units);
  const DType dtype = result_of_activation(op.activation, result_dtype(in[0].dtype, in[2].dtype));
  if (op.bias) expect_type(in[next++], {dtype, op.units}, "the bias");
  if (op.residual) expect_type(in[next++], {dtype, out}, "the residual");
  return {{dtype, out}};
}

}  // namespace attn::graph
