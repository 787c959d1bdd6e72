// Token by token, as keras_hub.models.CausalLM.generate.
#pragma once

#include "attn/generate/request.h"

namespace attn::generate {

/// The rows of a decoder that a sampler needs for each sequence: beams, candidates, or 1.
[[nodiscard]] Dim branches_of(const SamplerOptions& sampler);

/// Goes on with the prompts, all of them side by side. Positions are the same for all: the first to be filled is the
/// one behind the shortest prompt, and longer ones are read token by token from there, as in KerasHub, so that random
/// numbers fall on the same tokens. The decoder must have branches_of() rows for each prompt, and give hidden states
/// for the contrastive sampler. Throws Error (usage) where sampler options are out of range, Error (bad_input) where
/// logits are NaN, Stopped.
[[nodiscard]] Generated generate(Decoder& decoder, const Request& request);

}  // namespace attn::generate
