// Sums of products: y[…] = Σ x[…]·w[…].
#include <algorithm>
#include <map>

#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "attn/graph/einsum.h"
#include "kernels.h"
#include "numbers.h"
#include "offsets.h"

namespace attn::backends::reference {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

template <typename Number>
void compute_linear(const graph::Linear& op, Tensors in, const Tensor& out) {
  const Shape& kernel_shape = in[1].shape();
  const std::int64_t depth = kernel_shape.slice(0, op.contracted).size();                    // K
  const std::int64_t width = kernel_shape.slice(op.contracted, kernel_shape.rank()).size();  // M
  const std::int64_t rows = in[0].shape().slice(0, in[0].shape().rank() - op.contracted).size();

  const auto x = read<Number>(in[0]);          // (rows, K)
  const auto kernel = read<Number>(in[1]);     // (K, M)
  std::vector<Number> y(index(rows * width));  // (rows, M)
  for (std::int64_t row = 0; row < rows; ++row) {
    throw_if_stopped();
    Number* const sums = y.data() + row * width;
    for (std::int64_t k = 0; k < depth; ++k) {
      const Number factor = x[index(row * depth + k)];
      const Number* const kernel_row = kernel.data() + k * width;
      for (std::int64_t m = 0; m < width; ++m) sums[m] += factor * kernel_row[m];
    }
  }

  if (op.bias) {
    const auto bias = read<Number>(in[2]);  // (M)
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += bias[i % bias.size()];
  }
  if (op.activation.fn != graph::UnaryFn::linear) {
    for (Number& number : y) number = static_cast<Number>(apply(op.activation, static_cast<double>(number)));
  }
  if (op.residual) {
    const auto residual = read<Number>(in.back());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += residual[i];
  }
  write(out, y);
}

/// An operand of a matrix product: matrices (rows, columns) with strides, under batch axes.
struct Side {
  Shape batch;
  Dim rows = 1, columns = 1;
  std::int64_t row_stride = 0, column_stride = 0;
};

/// Returns a side of the product. With `vector_is_row`, a rank-1 operand is one row (the left side), otherwise one
/// column.
Side side_of(const Shape& shape, bool transposed, bool vector_is_row) {
  if (shape.rank() == 1) {
    return vector_is_row ? Side{{}, 1, shape[0], 0, 1} : Side{{}, shape[0], 1, 1, 0};
  }
  const Dim outer = shape[-2], inner = shape[-1];
  Side side{shape.slice(0, shape.rank() - 2), outer, inner, inner, 1};
  if (transposed) {
    std::swap(side.rows, side.columns);
    std::swap(side.row_stride, side.column_stride);
  }
  return side;
}

/// Returns the offset of each matrix of an operand for every index of the broadcast batch axes.
Offsets matrix_offsets(const Side& side, const Shape& batch) {
  Offsets result = broadcast_offsets(side.batch, batch);
  for (std::int64_t& offset : result) offset *= side.rows * side.columns;
  return result;
}

template <typename Number>
void compute_matmul(const graph::MatMul& op, Tensors in, const Tensor& out) {
  const Side left = side_of(in[0].shape(), op.transpose_x, true);
  const Side right = side_of(in[1].shape(), op.transpose_y, false);
  const auto batch = broadcast(left.batch, right.batch);
  if (!batch)
    throw internal_error("matmul: batch axes {} and {} do not broadcast", left.batch.str(), right.batch.str());
  const Offsets left_offsets = matrix_offsets(left, *batch);
  const Offsets right_offsets = matrix_offsets(right, *batch);

  const auto x = read<Number>(in[0]);
  const auto y = read<Number>(in[1]);
  std::vector<Number> z(index(out.size()));  // (batch…, rows, columns)
  Number* sums = z.data();
  for (std::size_t b = 0; b < left_offsets.size(); ++b) {
    for (Dim i = 0; i < left.rows; ++i, sums += right.columns) {
      throw_if_stopped();
      for (Dim k = 0; k < left.columns; ++k) {
        const Number factor = x[index(left_offsets[b] + i * left.row_stride + k * left.column_stride)];
        const Number* const y_row = y.data() + right_offsets[b] + k * right.row_stride;
        for (Dim j = 0; j < right.columns; ++j) sums[j] += factor * y_row[j * right.column_stride];
      }
    }
  }
  write(out, z);
}

/// Returns the stride of each of `letters` in an operand: the sum over the axes with that letter (a diagonal has two).
Offsets letter_strides(const std::string& letters, const std::string& axes, const Shape& shape) {
  const Offsets strides = strides_of(shape);
  Offsets result(letters.size(), 0);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const auto letter = letters.find(axes[axis]);
    if (letter != std::string::npos) result[letter] += strides[axis];
  }
  return result;
}

template <typename Number>
void compute_einsum(const graph::Einsum& op, Tensors in, const Tensor& out) {
  const graph::EinsumEquation equation = graph::parse_einsum(op.equation);
  std::map<char, Dim> sizes;
  std::string summed;  // letters that the output lacks
  for (std::size_t n = 0; n < in.size(); ++n) {
    for (std::size_t axis = 0; axis < equation.inputs[n].size(); ++axis) {
      const char letter = equation.inputs[n][axis];
      const bool is_new = sizes.emplace(letter, in[n].shape()[static_cast<int>(axis)]).second;
      if (is_new && equation.output.find(letter) == std::string::npos) summed += letter;
    }
  }
  const auto dims_of = [&](const std::string& letters) {
    std::vector<Dim> dims;
    for (const char letter : letters) dims.push_back(sizes.at(letter));
    return dims;
  };

  std::vector<std::vector<Number>> operands;
  std::vector<Offsets> starts, terms;  // operand n of sum i, term j is at starts[n][i] + terms[n][j]
  for (std::size_t n = 0; n < in.size(); ++n) {
    const std::string& axes = equation.inputs[n];
    operands.push_back(read<Number>(in[n]));
    starts.push_back(offsets(dims_of(equation.output), letter_strides(equation.output, axes, in[n].shape())));
    terms.push_back(offsets(dims_of(summed), letter_strides(summed, axes, in[n].shape())));
  }

  std::vector<Number> y(index(out.size()));
  for (std::size_t i = 0; i < y.size(); ++i) {
    throw_if_stopped();
    for (std::size_t j = 0; j < terms[0].size(); ++j) {
      Number product = operands[0][index(starts[0][i] + terms[0][j])];
      for (std::size_t n = 1; n < in.size(); ++n) product *= operands[n][index(starts[n][i] + terms[n][j])];
      y[i] += product;
    }
  }
  write(out, y);
}

}  // namespace

void compute(const graph::Linear& op, Tensors in, Tensors out) {
  // A floating activation of integers is computed in double; without an activation, integers stay exact.
  const bool exact = op.activation.fn == graph::UnaryFn::linear;
  with_ring_of(exact ? in[0].dtype() : DType::float64,
               [&](auto zero) { compute_linear<decltype(zero)>(op, in, out[0]); });
}

void compute(const graph::MatMul& op, Tensors in, Tensors out) {
  with_ring_of(in[0].dtype(), [&](auto zero) { compute_matmul<decltype(zero)>(op, in, out[0]); });
}

void compute(const graph::Einsum& op, Tensors in, Tensors out) {
  with_ring_of(in[0].dtype(), [&](auto zero) { compute_einsum<decltype(zero)>(op, in, out[0]); });
}

}  // namespace attn::backends::reference
