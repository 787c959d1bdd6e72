// Convolutions, pooling and recurrences.
#include "rules.h"

namespace attn::gradients {

void differentiate(const graph::Conv& op, Step& step) {
  Builder& b = step.b;
  graph::Conv product = op;  // the activation is a node of its own (see unfuse)
  product.bias = false;
  const ValueId x = step.x(0), kernel = step.x(1), dy = step.dy();
  if (step.wants(0)) step.give(0, b.apply(graph::ConvInputGrad{product, step.shape(x)}, {kernel, dy}));
  if (step.wants(1)) step.give(1, b.apply(graph::ConvKernelGrad{product, step.shape(kernel)}, {x, dy}));
  if (op.bias && step.wants(2)) step.give(2, step.sum(dy, all_axes(step.shape(dy).rank() - 1)));
}

void differentiate(const graph::Pool& op, Step& step) {
  std::vector<ValueId> inputs;
  if (!op.average) inputs.push_back(step.x(0));
  inputs.push_back(step.dy());
  step.give(0, step.b.apply(graph::PoolGrad{op, step.shape(step.x(0))}, inputs));
}

void differentiate(const graph::Rnn& op, Step& step) {
  std::vector<ValueId> inputs = step.node().inputs;
  for (std::size_t i = 0; i < step.node().outputs.size(); ++i) inputs.push_back(step.dy(i));
  const std::vector<ValueId> gradients = step.b.apply_all(graph::RnnGrad{op}, inputs);
  std::size_t next = 0;
  for (std::size_t i = 0; i < step.node().inputs.size(); ++i)
    if (is_floating(step.b.dtype(step.x(i)))) step.give(i, gradients[next++]);
}

void differentiate(const graph::DeltaRule&, Step& step) {
  std::vector<ValueId> inputs = step.node().inputs;
  for (std::size_t i = 0; i < step.node().outputs.size(); ++i) inputs.push_back(step.dy(i));
  const std::vector<ValueId> gradients = step.b.apply_all(graph::DeltaRuleGrad{}, inputs);
  for (std::size_t i = 0; i < gradients.size(); ++i) step.give(i, gradients[i]);
}

}  // namespace attn::gradients
