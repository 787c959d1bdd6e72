// Sums of products: y[…] = Σ x[…]·w[…], one thread per sum.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attn/graph/einsum.h"
#include "device.h"
#include "function.h"
#include "number.h"
#include "plain.h"
#include "threads.h"
#include "walk.h"

namespace attn::cuda {
namespace {

/// One operand of a matrix product: the strides along its kept axis and along the summed axis.
struct Side {
  Array numbers;
  std::int64_t kept = 0, summed = 0;
};

/// z (batch…, rows, columns) = activation(x·y + bias) + residual. The walk has the start of each batch entry's
/// matrices.
struct Product {
  Walk<2> batch;
  std::int64_t rows = 1, columns = 1, depth = 1;
  Side x, y;
  Array z;
  Array bias;      ///< (columns) or null
  Array residual;  ///< shaped as z, or null
};

template <typename Number>
__global__ void product_kernel(Product p, Function<std::conditional_t<std::is_integral_v<Number>, double, Number>> f) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= p.batch.count * p.rows * p.columns) return;
  const auto [rows, column] = divide(i, p.columns);
  const auto [batch, row] = divide(rows, p.rows);
  const auto start = p.batch.at(batch);
  const std::int64_t x = start.of[0] + row * p.x.kept, y = start.of[1] + column * p.y.kept;
  Number sum = p.bias.data != nullptr ? load<Number>(p.bias, column) : Number{};
  for (std::int64_t k = 0; k < p.depth; ++k) {
    sum += load<Number>(p.x.numbers, x + k * p.x.summed) * load<Number>(p.y.numbers, y + k * p.y.summed);
  }
  if constexpr (!std::is_integral_v<Number>) {
    if (f.fn != graph::UnaryFn::linear) sum = apply(f, sum);
  }
  if (p.residual.data != nullptr) sum += load<Number>(p.residual, i);
  store(p.z, i, sum);
}

template <typename Number>
void launch_product(const Product& product, const graph::Unary& activation, cudaStream_t stream) {
  const std::int64_t count = product.batch.count * product.rows * product.columns;
  using Computed = std::conditional_t<std::is_integral_v<Number>, double, Number>;
  check(launch(product_kernel<Number>, thread_each(count), stream, product, function_of<Computed>(activation)),
        "matrix product");
}

constexpr int kMaxEinsumInputs = 8;

/// Operand n of sum i, term j is at starts.at(i).of[n] + terms.at(j).of[n].
struct EinsumOperands {
  Array numbers[kMaxEinsumInputs];
  int count = 0;
};

template <typename Number>
__global__ void einsum_kernel(EinsumOperands operands, Walk<kMaxEinsumInputs> starts, Walk<kMaxEinsumInputs> terms,
                              Array y) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t i = thread_index();
  if (i >= starts.count) return;
  const auto start = starts.at(i);
  Number sum{};
  for (std::int64_t j = 0; j < terms.count; ++j) {
    const auto term = terms.at(j);
    Number product = 1;
    for (int n = 0; n < kMaxEinsumInputs; ++n) {
      if (n < operands.count) product *= load<Number>(operands.numbers[n], start.of[n] + term.of[n]);
    }
    sum += product;
  }
  store(y, i, sum);
}

/// Returns the stride of each of `letters` in an operand: the sum over the axes with that letter (a diagonal has two).
Steps letter_steps(const std::string& letters, const std::string& axes, const Shape& shape) {
  const Steps steps = steps_of(shape);
  Steps result(letters.size(), 0);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const auto letter = letters.find(axes[axis]);
    if (letter != std::string::npos) result[letter] += steps[axis];
  }
  return result;
}

}  // namespace

Choice make_plain(const graph::Linear& op, const Step& step) {
  const Shape& x = step.inputs[0].shape;
  const Shape& kernel = step.inputs[1].shape;
  Product product;
  product.rows = x.slice(0, x.rank() - op.contracted).size();
  product.columns = kernel.slice(op.contracted, kernel.rank()).size();
  product.depth = kernel.slice(0, op.contracted).size();
  product.x = {array_of(step.inputs[0]), product.depth, 1};
  product.y = {array_of(step.inputs[1]), 1, product.columns};
  product.z = array_of(step.outputs[0]);
  if (op.bias) product.bias = array_of(step.inputs[2]);
  if (op.residual) product.residual = array_of(step.inputs.back());
  // A floating activation of integers is computed in double; without an activation, integers stay exact.
  const bool exact = op.activation.fn == graph::UnaryFn::linear;
  return {"plain", [product, exact, activation = op.activation](cudaStream_t stream) {
            const auto run = [&](auto zero) { launch_product<decltype(zero)>(product, activation, stream); };
            exact ? with_ring_of(product.z.dtype, run) : with_float_of(product.z.dtype, run);
          }};
}

Choice make_plain(const graph::MatMul& op, const Step& step) {
  Shape x = step.inputs[0].shape, y = step.inputs[1].shape;
  // A rank-1 operand is one row on the left and one column on the right; its transpose flag is ignored.
  const bool transpose_x = op.transpose_x && x.rank() > 1, transpose_y = op.transpose_y && y.rank() > 1;
  if (x.rank() == 1) x = Shape{1, x[0]};
  if (y.rank() == 1) y = Shape{y[0], 1};
  Product product;
  product.rows = transpose_x ? x[-1] : x[-2];
  product.depth = transpose_x ? x[-2] : x[-1];
  product.columns = transpose_y ? y[-2] : y[-1];
  product.x = {array_of(step.inputs[0]), transpose_x ? 1 : x[-1], transpose_x ? x[-1] : 1};
  product.y = {array_of(step.inputs[1]), transpose_y ? y[-1] : 1, transpose_y ? 1 : y[-1]};
  product.z = array_of(step.outputs[0]);

  const Shape x_batch = x.slice(0, x.rank() - 2), y_batch = y.slice(0, y.rank() - 2);
  const auto batch = broadcast(x_batch, y_batch);
  if (!batch) return Choice("its batch axes do not meet");
  Axes axes{batch->dims(), {broadcast_steps(x_batch, *batch), broadcast_steps(y_batch, *batch)}};
  for (std::int64_t& size : axes.steps[0]) size *= x[-1] * x[-2];
  for (std::int64_t& size : axes.steps[1]) size *= y[-1] * y[-2];
  const auto walk = walk_over<2>(axes);
  if (!walk) return too_many_axes();
  product.batch = *walk;
  return {"plain", [product](cudaStream_t stream) {
            with_ring_of(product.z.dtype,
                         [&](auto zero) { launch_product<decltype(zero)>(product, graph::Unary{}, stream); });
          }};
}

Choice make_plain(const graph::Einsum& op, const Step& step) {
  const graph::EinsumEquation equation = graph::parse_einsum(op.equation);
  if (step.inputs.size() > kMaxEinsumInputs) return Choice("more than 8 inputs");
  std::map<char, Dim> sizes;
  std::string summed;  // letters that the output lacks
  for (std::size_t n = 0; n < step.inputs.size(); ++n) {
    for (std::size_t axis = 0; axis < equation.inputs[n].size(); ++axis) {
      const char letter = equation.inputs[n][axis];
      const bool is_new = sizes.emplace(letter, step.inputs[n].shape[static_cast<int>(axis)]).second;
      if (is_new && equation.output.find(letter) == std::string::npos) summed += letter;
    }
  }
  EinsumOperands operands;
  Axes outer, inner;
  for (const char letter : equation.output) outer.sizes.push_back(sizes.at(letter));
  for (const char letter : summed) inner.sizes.push_back(sizes.at(letter));
  for (std::size_t n = 0; n < step.inputs.size(); ++n) {
    operands.numbers[operands.count++] = array_of(step.inputs[n]);
    outer.steps.push_back(letter_steps(equation.output, equation.inputs[n], step.inputs[n].shape));
    inner.steps.push_back(letter_steps(summed, equation.inputs[n], step.inputs[n].shape));
  }
  const auto starts = walk_over<kMaxEinsumInputs>(outer), terms = walk_over<kMaxEinsumInputs>(inner);
  if (!starts || !terms) return too_many_axes();
  return {"plain", [operands, starts = *starts, terms = *terms, y = array_of(step.outputs[0])](cudaStream_t stream) {
            with_ring_of(y.dtype, [&](auto zero) {
              check(
                  launch(einsum_kernel<decltype(zero)>, thread_each(starts.count), stream, operands, starts, terms, y),
                  "einsum");
            });
          }};
}

}  // namespace attn::cuda
