#include "attn/probe/ablate.h"

#include <algorithm>

#include "attn/base/error.h"

namespace attn::probe {
namespace {

using graph::ValueId;

/// A part: a point, and the head in its second-last axis if it is one.
struct Part {
  std::string point;
  ValueId value = graph::kNone;
  int layer = 0;
  std::int64_t heads = 0;  ///< 0: the whole value
};

std::vector<Part> parts_of(const Lowered& lowered, const AblateOptions& options) {
  std::vector<Part> out;
  const auto add = [&](ValueId value, int layer, bool heads) {
    const auto named = std::ranges::find(lowered.points.named, value, &Point::value);
    if (value == graph::kNone || named == lowered.points.named.end()) return;
    const Shape& shape = lowered.graph.value(value).shape;
    out.push_back({named->name, value, layer, heads ? shape[shape.rank() - 2] : 0});
  };
  for (const Block& block : lowered.points.blocks) {
    for (const auto& [prefix, part] : block.attentions()) {
      if (options.heads) add(part->z, block.layer, true);
      if (options.attention) add(part->out, block.layer, false);
    }
    if (options.mlp) add(block.mlp_out, block.layer, false);
  }
  return out;
}

/// Returns the value in place of a part, broadcast to the part's shape: (1,T,…).
Tensor replacement(const Part& part, const Tensor& own, const std::vector<Values>& reference, Ablation with) {
  Tensor out(own.dtype(), own.shape());
  if (with == Ablation::zero) return out;
  if (with == Ablation::resample) return reference.front().at(part.value);
  const std::int64_t positions = own.shape()[1], width = own.size() / positions;
  std::vector<const Tensor*> sources;
  for (const Values& values : reference) sources.push_back(&values.at(part.value));
  if (sources.empty()) sources.push_back(&own);
  for (std::int64_t i = 0; i < width; ++i) {
    double sum = 0;
    std::int64_t count = 0;
    for (const Tensor* source : sources)
      for (std::int64_t at = 0; at < source->size() / width; ++at, ++count) sum += source->at(at * width + i);
    for (std::int64_t at = 0; at < positions; ++at) {
      if (with == Ablation::mean_by_position) {
        sum = 0;
        count = std::ssize(sources);
        for (const Tensor* source : sources) sum += source->at(at * width + i);
      }
      out.set(at * width + i, sum / static_cast<double>(count));
    }
  }
  return out;
}

/// Copies a head, or everything, from `from` to `to`, both (1,T,N,H) or (1,T,D).
void put(const Tensor& from, const Tensor& to, const Part& part, std::int64_t head) {
  const std::int64_t size = part.heads == 0 ? to.size() : to.shape().back();
  for (std::int64_t first = 0; first < to.size(); first += size) {
    if (part.heads != 0 && (first / size) % part.heads != head) continue;
    for (std::int64_t i = first; i < first + size; ++i) to.set(i, from.at(i));
  }
}

void require_reference(const Prompt& prompt, const AblateOptions& options) {
  const bool needs = options.with == Ablation::resample || options.with == Ablation::mean_by_position;
  if (needs && options.reference.empty())
    throw bad_usage("`reference` is missing: it has the prompts to take values of");
  if (!needs) return;
  for (const Prompt& other : options.reference)
    if (other.ids.size() != prompt.ids.size() || other.encoder.size() != prompt.encoder.size())
      throw bad_usage(
          "the prompt has {} tokens, but one of the reference has {}: by position, all need the same length",
          prompt.ids.size(), other.ids.size());
}

}  // namespace

Ablated ablate(const Subject& subject, const Prompt& prompt, const AblateOptions& options) {
  require_reference(prompt, options);
  Lowered lowered = subject.lower(1, prompt);
  subject.require_logits(lowered);
  const std::vector<Part> parts = parts_of(lowered, options);
  std::vector<ValueId> sites;
  for (const Part& part : parts) sites.push_back(part.value);
  std::vector<Values> reference;
  for (const Prompt& other : options.reference) reference.push_back(subject.run(subject.lower(1, other), other, sites));
  const Sweep sweep(subject, std::move(lowered), prompt, sites);

  Ablated out;
  out.metric = metric_or_best(options.metric, sweep.logits());
  const Measure measure(sweep.logits(), prompt, out.metric, subject, sweep.lowered());
  out.baseline = measure.of(sweep.logits());
  double total = 0;
  for (const Part& part : parts) total += static_cast<double>(std::max<std::int64_t>(part.heads, 1));
  const auto work = subject.listener().begin("ablating", total);
  for (const Part& part : parts) {
    const Tensor other = replacement(part, sweep.value(part.value), reference, options.with);
    sweep.run(
        part.value, std::max<std::int64_t>(part.heads, 1),
        [&](std::int64_t copy, const Tensor& place) { put(other, place, part, copy); },
        [&](std::int64_t copy, const Tensor& logits) {
          AblatedPart result{part.point, part.layer, {}, measure.of(logits)};
          if (part.heads != 0) result.head = static_cast<int>(copy);
          if (result.change.loss) *result.change.loss -= *out.baseline.loss;
          result.change.metric -= out.baseline.metric;
          out.parts.push_back(std::move(result));
          work->advance();
        });
  }
  return out;
}

}  // namespace attn::probe
