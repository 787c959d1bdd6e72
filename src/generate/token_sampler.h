// Selects the next token of each row by its probabilities.
#pragma once

#include <span>
#include <vector>

#include "attn/generate/sampler.h"
#include "categorical.h"
#include "probabilities.h"

namespace attn::generate {

/// A sampler that decides by the logits of one step (keras_hub/src/samplers: greedy, random, top_k, top_p). Counts its
/// draws.
class TokenSampler {
 public:
  explicit TokenSampler(const SamplerOptions& options);
  /// Returns a token for each row of logits.
  [[nodiscard]] std::vector<Token> choose(std::span<const std::span<const float>> logits);

 private:
  /// The tokens that can be drawn, and their weights.
  struct Candidates {
    std::vector<std::int64_t> tokens;
    std::vector<float> weights;
  };
  [[nodiscard]] Candidates candidates(std::span<const float> logits) const;

  SamplerOptions options_;
  Categorical draws_;
};

}  // namespace attn::generate
