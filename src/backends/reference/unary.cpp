#include "attn/backends/reference.h"
#include "attn/graph/formulas.h"
#include "kernels.h"
#include "numbers.h"

namespace attn::backends {

double apply(const graph::Unary& function, double x) {
  return graph::formula::value<double>(function.fn, x, function.a, function.b, function.c);
}

double derivative(const graph::Unary& function, double x) { return graph::formula::derivative(function, x); }

namespace reference {

void compute(const graph::UnaryGrad& op, Tensors in, Tensors out) {
  auto x = read<double>(in[0]);
  const auto dy = read<double>(in[1]);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = dy[i] * derivative(op.forward, x[i]);
  write(out[0], x);
}

}  // namespace reference
}  // namespace attn::backends
