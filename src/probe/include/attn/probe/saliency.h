// Gradients of a prediction with respect to the embeddings of its tokens, and their integrals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/probe/measure.h"
#include "attn/probe/subject.h"

namespace attn::probe {

enum class SaliencyMethod { gradient, grad_x_input, integrated };
/// The steps of integrated gradients between the baseline and the input.
enum class StepRule { midpoint, gauss, trapezoid };

struct SaliencyOptions {
  SaliencyMethod method = SaliencyMethod::grad_x_input;
  std::int64_t steps = 32;
  StepRule rule = StepRule::midpoint;
  std::optional<Id> baseline;    ///< the token in place of every token; empty: the embedding 0
  std::optional<Metric> metric;  ///< default: the logit of the best token at the last position
};

struct TokenSaliency {
  double value = 0;  ///< Σ over the embedding: e·∂s/∂e, or the integral; for `gradient` its norm
  double norm = 0;   ///< Euclidean norm over the embedding of the terms whose sum is `value`
};

struct Saliency {
  Metric metric;
  double score = 0;
  std::optional<double> baseline_score, gap;   ///< gap: Σ values − (score − baseline_score)
  std::vector<TokenSaliency> tokens, encoder;  ///< by position
  Tensor gradient;                             ///< (T,D) of the decoder or only stack, or the integral's summands
};

/// The embeddings of positions and segments stay as they are. Throws Error (bad_input), naming the layer, for an
/// operation without a gradient, as in quantized models.
[[nodiscard]] Saliency saliency(const Subject& subject, const Prompt& prompt, const SaliencyOptions& options);

}  // namespace attn::probe
