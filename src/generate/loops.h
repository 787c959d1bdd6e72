// The loops of generate(), one for each search method. Private to the module.
#pragma once

#include "attn/generate/request.h"
#include "prompts.h"

namespace attn::generate {

/// Greedy, random, top-k and top-p sampling: sequences are independent.
[[nodiscard]] Generated sample(Decoder& decoder, const Request& request, const Prompts& prompts);
/// Greedy, random, top-k and top-p sampling of one sequence, whose next tokens Request::draft proposes.
[[nodiscard]] Generated speculate(Decoder& decoder, const Request& request, const Prompts& prompts);
/// keras_hub/src/samplers/beam_sampler.py: has no length penalty and no pool of ended beams.
[[nodiscard]] Generated search_beams(Decoder& decoder, const Request& request, const Prompts& prompts);
/// keras_hub/src/samplers/contrastive_sampler.py: reads each of the k most probable tokens, and selects the one that is
/// probable and differs from the context.
[[nodiscard]] Generated search_contrastive(Decoder& decoder, const Request& request, const Prompts& prompts);

}  // namespace attn::generate
