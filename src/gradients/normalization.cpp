#include "rules.h"

namespace attn::gradients {

using graph::UnaryFn;

void differentiate(const graph::LayerNorm& op, Step& step) {
  std::vector<ValueId> inputs{step.x(0)};
  if (op.scale) inputs.push_back(step.x(1));
  inputs.push_back(step.dy());
  const std::vector<ValueId> gradients = step.b.apply_all(graph::LayerNormGrad{op}, inputs);
  for (std::size_t i = 0; i < gradients.size(); ++i) step.give(i, gradients[i]);
}

/// With given statistics: y = (x − mean)·gamma/√(variance + ε) + beta.
void differentiate(const graph::BatchNorm& op, Step& step) {
  Builder& b = step.b;
  const Shape shape = step.shape(step.x(0));
  const int axis = *normalize_axis(op.axis, shape.rank());
  Shape along;  // shape of the channels, for broadcasting to x
  std::vector<int> others;
  for (int i = 0; i < shape.rank(); ++i) {
    along.push_back(i == axis ? shape[i] : 1);
    if (i != axis) others.push_back(i);
  }
  const auto spread = [&](ValueId channels) { return b.reshape(channels, along); };
  const ValueId dy = step.dy(), mean = step.x(1), variance = step.x(2);
  const ValueId steadied = step.add(variance, b.scalar_like(variance, op.epsilon));
  const ValueId rate = b.unary(UnaryFn::rsqrt, steadied);
  const ValueId slope = op.scale ? step.multiply(rate, step.x(3)) : rate;
  if (step.wants(0)) step.give(0, step.multiply(dy, spread(slope)));
  const ValueId sum = step.sum(dy, others);
  if (step.wants(1)) step.give(1, step.negative(step.multiply(sum, slope)));
  if (op.center) step.give(op.scale ? 4 : 3, sum);
  if (!step.wants(2) && !(op.scale && step.wants(3))) return;
  const ValueId centered = step.sum(step.multiply(dy, step.subtract(step.x(0), spread(mean))), others);
  if (op.scale) step.give(3, step.multiply(centered, rate));
  if (step.wants(2)) step.give(2, step.divide(step.times(step.multiply(centered, slope), -0.5), steadied));
}

/// The mean and the variance only feed moving averages, which are not differentiated.
void differentiate(const graph::BatchNormTraining& op, Step& step) {
  std::vector<ValueId> inputs{step.x(0)};
  std::size_t next = 1;
  if (op.scale) inputs.push_back(step.x(next++));
  if (op.center) ++next;
  if (op.mask) inputs.push_back(step.x(next));
  inputs.insert(inputs.end(), {step.y(1), step.y(2), step.dy(0)});
  const std::vector<ValueId> gradients = step.b.apply_all(graph::BatchNormGrad{op}, inputs);
  for (std::size_t i = 0; i < gradients.size(); ++i) step.give(i, gradients[i]);
}

}  // namespace attn::gradients
