#include "refusals.h"

#include "attn/base/error.h"

namespace attn::probe {

void require_logits(const Subject& subject, const Lowered& lowered) {
  if (lowered.points.logits == graph::kNone)
    throw bad_input("{}: a {} ends in hidden states; give a task with logits, such as a CausalLM or a TextClassifier",
                    subject.loaded().file, subject.loaded().model.class_name());
}

void require_token(const Lowered& lowered, Id token) {
  const std::int64_t count = lowered.graph.value(lowered.points.logits).shape.back();
  if (token < 0 || token >= count) throw bad_usage("token {} is outside the model's logits, 0 to {}", token, count - 1);
}

}  // namespace attn::probe
