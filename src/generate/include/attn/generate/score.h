// The log-likelihood of a text.
#pragma once

#include <span>
#include <vector>

#include "attn/generate/decoder.h"

namespace attn::generate {

/// ln p of each token except the first, given the tokens before it: one value fewer than tokens. Throws Error (usage)
/// if a token is outside the vocabulary, Error (bad_input) if logits are NaN or infinite, and the errors of
/// Executable::run.
[[nodiscard]] std::vector<double> score(Decoder& decoder, std::span<const Token> tokens);

}  // namespace attn::generate
