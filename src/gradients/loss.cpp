// Losses, and operations that act only in training.
#include "rules.h"

namespace attn::gradients {

void differentiate(const graph::SoftmaxCrossEntropy&, Step& step) {
  Builder& b = step.b;
  const ValueId logits = step.x(0), labels = step.x(1), dy = step.dy();
  if (step.wants(0)) step.give(0, b.apply(graph::SoftmaxCrossEntropyGrad{}, {logits, labels, dy}));
  if (step.wants(1)) {  // probabilities: the gradient of each is −ln of the softmax
    const int classes = step.shape(logits).rank() - 1;
    const ValueId log = b.apply(graph::Softmax{graph::SoftmaxKind::log_softmax, {classes}}, {logits});
    step.give(1, step.negative(step.multiply(log, b.expand_dims(dy, -1))));
  }
}

void differentiate(const graph::Dropout& op, Step& step) { step.give(0, step.b.apply(op, {step.dy(), step.x(1)})); }

}  // namespace attn::gradients
