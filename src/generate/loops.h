// The loops of generate(), one for each way of searching. Private to the room.
#pragma once

#include "attn/generate/request.h"
#include "prompts.h"

namespace attn::generate {

/// Greedy, random, top-k and top-p: a token for each sequence alone.
[[nodiscard]] Generated sample(Decoder& decoder, const Request& request, const Prompts& prompts);
/// The same of one sequence, with Request::draft.
[[nodiscard]] Generated speculate(Decoder& decoder, const Request& request, const Prompts& prompts);
/// keras_hub/src/samplers/beam_sampler.py: neither a length penalty nor a pool of ended beams.
[[nodiscard]] Generated search_beams(Decoder& decoder, const Request& request, const Prompts& prompts);
/// keras_hub/src/samplers/contrastive_sampler.py: the k likeliest tokens are each read, and the best is the one that is
/// likely and unlike what came before.
[[nodiscard]] Generated search_contrastive(Decoder& decoder, const Request& request, const Prompts& prompts);

}  // namespace attn::generate
