// Text generation, token by token, like keras_hub.models.CausalLM.generate.
#pragma once

#include "attn/generate/request.h"

namespace attn::generate {

/// Throws Error (usage) if an option is out of range.
void expect_sampler(const SamplerOptions& sampler);

/// Returns the decoder rows that a sampler needs for each sequence: beams, candidates, or 1. The options must be in
/// range.
[[nodiscard]] Dim branches_of(const SamplerOptions& sampler);

/// Continues all prompts in one batch. Positions are the same for all. The first new position is the one after the
/// shortest prompt. Longer prompts are read token by token from there, as in KerasHub, so that random numbers meet the
/// same tokens. The decoder must have branches_of() rows for each prompt, and output hidden states for the contrastive
/// sampler. Throws Error (usage) if sampler options or prompts are out of range, Error (bad_input) if logits are NaN or
/// infinite, and Stopped.
[[nodiscard]] Generated generate(Decoder& decoder, const Request& request);

}  // namespace attn::generate
