// What is kept of the logits that tokens were chosen by.
#pragma once

#include <span>

#include "attn/generate/request.h"

namespace attn::generate {

/// Adds to `sequence` what the request wants to know of a token that is added.
void keep_scores(const Request& request, std::span<const float> logits, Token chosen, Sequence& sequence);

/// One row of logits. Throws Error (bad_input) where one is NaN, naming the position they are for.
[[nodiscard]] std::span<const float> logits_of(const Ahead& ahead, Dim row, Dim position);

}  // namespace attn::generate
