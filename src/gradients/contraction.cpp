// Products. Both of their gradients are products too, so that the backward pass uses the kernels of the forward pass.
#include "attn/graph/einsum.h"
#include "rules.h"

namespace attn::gradients {

using graph::MatMul;

namespace {

/// Returns x as a matrix whose rows are its first `leading` axes, merged.
ValueId as_matrix(Step& step, ValueId x, int leading) {
  const Shape shape = step.shape(x);
  return step.b.reshape(x, {shape.slice(0, leading).size(), shape.slice(leading, shape.rank()).size()});
}

}  // namespace

void differentiate(const graph::Linear& op, Step& step) {
  Builder& b = step.b;
  const ValueId x = step.x(0), kernel = step.x(1), dz = step.dy();  // the activation is a node of its own (see unfuse)
  const int rows = step.shape(x).rank() - op.contracted;
  const ValueId flat = as_matrix(step, dz, rows);
  if (step.wants(0)) {
    const ValueId dx = b.apply(MatMul{false, true}, {flat, as_matrix(step, kernel, op.contracted)});
    step.give(0, b.reshape(dx, step.shape(x)));
  }
  if (step.wants(1)) {
    const ValueId dkernel = b.apply(MatMul{true, false}, {as_matrix(step, x, rows), flat});
    step.give(1, b.reshape(dkernel, step.shape(kernel)));
  }
  if (op.bias && step.wants(2)) step.give(2, b.reshape(step.sum(flat, {0}), step.shape(step.x(2))));
  if (op.residual) step.give(step.node().inputs.size() - 1, dz);
}

void differentiate(const MatMul& op, Step& step) {
  Builder& b = step.b;
  ValueId x = step.x(0), y = step.x(1), g = step.dy();
  // In NumPy's products a vector is a row on the left and a column on the right.
  const Shape of_x = step.shape(x), of_y = step.shape(y);
  const bool row = of_x.rank() == 1, column = of_y.rank() == 1;
  Shape of_g = step.shape(g);
  if (row) {
    x = b.reshape(x, {1, of_x[0]});
    Shape with_row = of_g.slice(0, of_g.rank() - (column ? 0 : 1));
    with_row.push_back(1);
    if (!column) with_row.push_back(of_g.back());
    of_g = with_row;
  }
  if (column) {
    y = b.reshape(y, {of_y[0], 1});
    of_g.push_back(1);
  }
  g = b.reshape(g, of_g);
  bool tx = op.transpose_x && !row, ty = op.transpose_y && !column;
  if (step.shape(y).rank() == 2 && step.shape(x).rank() > 2 && !tx) {  // one matrix for all batches
    const Shape shape = step.shape(x);
    x = as_matrix(step, x, shape.rank() - 1);
    g = as_matrix(step, g, shape.rank() - 1);
  }
  if (step.wants(0)) {
    const ValueId dx = tx ? b.apply(MatMul{ty, true}, {y, g}) : b.apply(MatMul{false, !ty}, {g, y});
    step.give(0, b.reshape(step.unbroadcast(dx, step.shape(x)), of_x));
  }
  if (step.wants(1)) {
    const ValueId dy = ty ? b.apply(MatMul{true, tx}, {g, x}) : b.apply(MatMul{!tx, false}, {x, g});
    step.give(1, b.reshape(step.unbroadcast(dy, step.shape(y)), of_y));
  }
}

namespace {

/// Returns `text` with only the first occurrence of each letter.
std::string without_repeats(const std::string& text) {
  std::string out;
  for (const char letter : text)
    if (out.find(letter) == std::string::npos) out += letter;
  return out;
}

/// Returns the gradient of input `i`: the other inputs and dy contracted to its letters. Letters that only this input
/// has are summed over, so their gradient is broadcast; elements off a diagonal are 0.
ValueId einsum_gradient(const graph::EinsumEquation& equation, std::size_t i, Step& step) {
  Builder& b = step.b;
  const std::string& letters = equation.inputs[i];
  const std::string own = without_repeats(letters);
  const Shape shape = step.shape(step.x(i));
  std::string terms = equation.output, elsewhere = equation.output;
  std::vector<ValueId> operands{step.dy()};
  for (std::size_t j = 0; j < equation.inputs.size(); ++j) {
    if (j == i) continue;
    terms += "," + equation.inputs[j];
    elsewhere += equation.inputs[j];
    operands.push_back(step.x(j));
  }
  std::string known;
  for (const char letter : own)
    if (elsewhere.find(letter) != std::string::npos) known += letter;
  ValueId dx = terms == known ? operands[0] : b.apply(graph::Einsum{terms + "->" + known}, operands);

  // Each axis of x has its letter's size at the letter's first occurrence, otherwise 1.
  Shape spread;
  for (std::size_t axis = 0; axis < letters.size(); ++axis) {
    const bool first = letters.find(letters[axis]) == axis && known.find(letters[axis]) != std::string::npos;
    spread.push_back(first ? shape[static_cast<int>(axis)] : 1);
  }
  dx = step.broadcast(b.reshape(dx, spread), shape);
  for (std::size_t axis = 0; axis < letters.size(); ++axis) {
    const std::size_t first = letters.find(letters[axis]);
    if (first == axis) continue;
    const ValueId row = b.apply(graph::Iota{shape, DType::int32, static_cast<int>(first)}, {});
    const ValueId column = b.apply(graph::Iota{shape, DType::int32, static_cast<int>(axis)}, {});
    dx = step.select(b.binary(graph::BinaryFn::equal, row, column), dx, b.scalar_like(dx, 0.0));
  }
  return dx;
}

}  // namespace

void differentiate(const graph::Einsum& op, Step& step) {
  const graph::EinsumEquation equation = graph::parse_einsum(op.equation);
  for (std::size_t i = 0; i < equation.inputs.size(); ++i)
    if (step.wants(i)) step.give(i, einsum_gradient(equation, i, step));
}

}  // namespace attn::gradients
