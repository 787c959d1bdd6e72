// Records scores of the chosen tokens.
#pragma once

#include <span>

#include "attn/generate/request.h"

namespace attn::generate {

/// Appends to `sequence` the scores that the request asks for.
void keep_scores(const Request& request, std::span<const float> logits, Token chosen, Sequence& sequence);

}  // namespace attn::generate
