#include "requirements.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::probe {

using graph::ValueId;

void require_logits(const Subject& subject, const Lowered& lowered) {
  if (lowered.points.logits == graph::kNone)
    throw bad_input("{}: a {} ends in hidden states; give a task with logits, such as a CausalLM or a TextClassifier",
                    subject.loaded().file, subject.loaded().model.class_name());
  const Shape& shape = lowered.graph.value(lowered.points.logits).shape;
  if (shape.rank() == 2 || (shape.rank() == 3 && shape[1] == lowered.length)) return;
  throw bad_input(
      "{}: the logits of {} tokens have the shape {}; probe reads one row for each token, or classes of the whole text",
      subject.loaded().file, lowered.length, shape.str());
}

void require_alike(const Subject& subject, const Lowered& lowered, ValueId site, std::span<const Point> points) {
  if (site == graph::kNone) return;
  const graph::Value& own = lowered.graph.value(site);
  for (const Point& point : points) {
    const graph::Value& other = lowered.graph.value(point.value);
    if (other.shape == own.shape && other.dtype == own.dtype) continue;
    throw bad_input(
        "{}: {} has the shape {} in {}, but the end of the stream has {} in {}, so the model's end cannot read it",
        subject.loaded().file, point.name, other.shape.str(), name_of(other.dtype), own.shape.str(),
        name_of(own.dtype));
  }
}

void require_gradients(const Subject& subject, const Lowered& lowered) {
  const auto is_quantized = [](const graph::Node& node) {
    return std::holds_alternative<graph::QuantizedLinear>(node.op);
  };
  const auto found = std::ranges::find_if(lowered.graph.nodes, is_quantized);
  if (found == lowered.graph.nodes.end()) return;
  const std::string layer = found->layer == graph::kNone ? "" : lowered.graph.layers[graph::at(found->layer)].name;
  throw bad_input(
      "{}: layer '{}' has no gradient, because its weights are quantized; use ablate or patch, or a model "
      "whose weights are not",
      subject.loaded().file, printable(layer));
}

void require_token(const Lowered& lowered, Id token) {
  const std::int64_t count = lowered.graph.value(lowered.points.logits).shape.back();
  if (token < 0 || token >= count) throw bad_usage("token {} is outside the model's logits, 0 to {}", token, count - 1);
}

void require_tokens(const Lowered& lowered, const Metric& metric) {
  require_token(lowered, metric.token);
  if (metric.versus) require_token(lowered, *metric.versus);
}

}  // namespace attn::probe
