// Records scores of the chosen tokens.
#pragma once

#include <span>

#include "attn/generate/request.h"

namespace attn::generate {

/// Appends to `sequence` the scores that the request asks for.
void keep_scores(const Request& request, std::span<const float> logits, Token chosen, Sequence& sequence);

/// Returns one row of logits. Throws Error (bad_input) with the position if one is NaN.
[[nodiscard]] std::span<const float> logits_of(const DecoderOutput& ahead, Dim row, Dim position);

}  // namespace attn::generate
