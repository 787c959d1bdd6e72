// Matrix products.
#include <numeric>

#include "emit.h"

namespace attn::onnx {
namespace {

std::optional<Size> product(const Sizes& sizes, std::size_t first, std::size_t last) {
  std::int64_t result = 1;
  for (std::size_t i = first; i < last; ++i) {
    if (!sizes[i] || !sizes[i]->fixed()) return std::nullopt;
    result *= sizes[i]->offset;
  }
  return Size::of(result);
}

Name swap_last(const Step& step, std::size_t i) {
  const int rank = step.rank(i);
  if (rank < 2) return step.in[i];
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return step.emitter.transpose(step.in[i], order);
}

}  // namespace

Names emit(const Step& step, const graph::Linear& op) {
  Emitter& e = step.emitter;
  const Sizes x = step.in_sizes(0), kernel = step.in_sizes(1), out = step.out_sizes();
  const auto contracted = static_cast<std::size_t>(op.contracted);
  const std::size_t leading = x.size() - contracted;
  Sizes rows(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(leading));
  Sizes flat_x = rows, flat_out = rows;
  flat_x.push_back(product(x, leading, x.size()));
  flat_out.push_back(product(kernel, contracted, kernel.size()));
  const Sizes flat_kernel{flat_x.back(), flat_out.back()};
  const Name columns = e.reshape(step.in[0], x, flat_x), matrix = e.reshape(step.in[1], kernel, flat_kernel);
  Term result{&e, e.reshape(e.node("MatMul", {columns, matrix}), flat_out, out), step.output().dtype};
  if (op.bias) result = result + step.term(2);
  result = apply(op.activation, result);
  if (op.residual) result = result + step.term(op.bias ? 3 : 2);
  return {result.name};
}

Names emit(const Step& step, const graph::MatMul& op) {
  const Name x = op.transpose_x ? swap_last(step, 0) : step.in[0];
  const Name y = op.transpose_y ? swap_last(step, 1) : step.in[1];
  return {step.emitter.node("MatMul", {x, y})};
}

Names emit(const Step& step, const graph::Einsum& op) {
  return {step.emitter.node("Einsum", step.in, {{"equation", op.equation}})};
}

}  // namespace attn::onnx
