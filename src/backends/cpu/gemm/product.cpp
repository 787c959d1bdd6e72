#include "product.h"

#include "operations/loops.h"

namespace attn::backends::cpu {

Finish::Finish(const graph::Unary& activation, bool residual) : residual_(residual) {
  if (activation.fn != graph::UnaryFn::linear) activation_.emplace(activation);
}

void Finish::run(const float* residual, float* y, std::int64_t count) const {
  if (activation_) (*activation_)(y, y, count);
  if (residual_) add_to(y, residual, count);
}

Product::Size product_size(const graph::Linear& op, const Shape& x, const Shape& kernel) {
  return {x.slice(0, x.rank() - op.contracted).size(), kernel.slice(0, op.contracted).size(),
          kernel.slice(op.contracted, kernel.rank()).size()};
}

}  // namespace attn::backends::cpu
