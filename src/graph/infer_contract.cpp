#include <map>

#include "attn/base/error.h"
#include "attn/graph/einsum.h"
#include "infer.h"

namespace attn::graph {

Types infer_types(const Linear& op, Inputs in) {
  expect_inputs(in, 2U + (op.bias ? 1U : 0U) + (op.residual ? 1U : 0U));
  expect_one_dtype(in);
  expect_number(in[0].dtype, "a dense map");
  const Shape& x = in[0].shape;
  const Shape& kernel = in[1].shape;
  const int n = op.contracted;
  if (n < 1 || n > x.rank() || n > kernel.rank()) {
    throw bad_input("{} axes of x {} cannot be contracted with the kernel {}", n, x.str(), kernel.str());
  }
  const Shape rest = x.slice(x.rank() - n, x.rank());
  const Shape expected = kernel.slice(0, n);
  for (int axis = 0; axis < n; ++axis) {
    if (agree(rest[axis], expected[axis])) continue;
    if (n == 1) throw bad_input("the last axis of x is {}, the kernel expects {}", rest[0], expected[0]);
    throw bad_input("the last {} axes of x are {}, the kernel expects {}", n, rest.str(), expected.str());
  }
  const Shape units = kernel.slice(n, kernel.rank());
  Shape out = x.slice(0, x.rank() - n);
  out.append(units);
  std::size_t next = 2;
  if (op.bias) expect_shape(in[next++].shape, units, "the bias");
  if (op.residual) expect_shape(in[next++].shape, out, "the residual");
  return {{result_of_activation(op.activation, in[0].dtype), out}};
}

Types infer_types(const MatMul& op, Inputs in) {
  expect_inputs(in, 2);
  expect_one_dtype(in);
  expect_number(in[0].dtype, "matmul");
  Shape x = in[0].shape;
  Shape y = in[1].shape;
  if (x.rank() == 0 || y.rank() == 0) throw bad_input("matmul of {} and {}: both sides need axes", x.str(), y.str());

  // NumPy's rule: a rank-1 operand becomes a row on the left, a column on the right, and its axis of 1 is dropped.
  const bool row = x.rank() == 1;
  const bool column = y.rank() == 1;
  if (row) x = Shape{1, x[0]};
  if (column) y = Shape{y[0], 1};
  const bool transpose_x = op.transpose_x && !row;
  const bool transpose_y = op.transpose_y && !column;
  const Dim m = transpose_x ? x[-1] : x[-2];
  const Dim k_of_x = transpose_x ? x[-2] : x[-1];
  const Dim k_of_y = transpose_y ? y[-1] : y[-2];
  const Dim n = transpose_y ? y[-2] : y[-1];
  if (!agree(k_of_x, k_of_y)) {
    throw bad_input("matmul of {} and {}: the inner axes are {} and {}", in[0].shape.str(), in[1].shape.str(), k_of_x,
                    k_of_y);
  }
  auto out = broadcast(x.slice(0, x.rank() - 2), y.slice(0, y.rank() - 2));
  if (!out) {
    throw bad_input("matmul of {} and {}: the batch axes do not broadcast", in[0].shape.str(), in[1].shape.str());
  }
  if (!row) out->push_back(m);
  if (!column) out->push_back(n);
  return {{in[0].dtype, *std::move(out)}};
}

Types infer_types(const Einsum& op, Inputs in) {
  const EinsumEquation equation = parse_einsum(op.equation);
  expect_inputs(in, equation.inputs.size());
  expect_one_dtype(in);
  expect_number(in[0].dtype, "einsum");
  std::map<char, Dim> sizes;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::string& letters = equation.inputs[i];
    const Shape& shape = in[i].shape;
    if (shape.rank() != static_cast<int>(letters.size())) {
      throw bad_input("the equation '{}' names {} axes of input {}, which has the shape {}", op.equation,
                      letters.size(), i, shape.str());
    }
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const char letter = letters[static_cast<std::size_t>(axis)];
      Dim& size = sizes.try_emplace(letter, kUnknown).first->second;
      if (!agree(size, shape[axis])) {
        throw bad_input("'{}' of the equation '{}' is both {} and {}", letter, op.equation, size, shape[axis]);
      }
      size = merge(size, shape[axis]);
    }
  }
  Shape out;
  for (const char letter : equation.output) out.push_back(sizes.at(letter));
  return {{in[0].dtype, out}};
}

}  // namespace attn::graph
