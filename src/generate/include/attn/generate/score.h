// How likely a model holds a text.
#pragma once

#include <span>
#include <vector>

#include "attn/generate/decoder.h"

namespace attn::generate {

/// ln p of each token but the first, given those before it: one number less than there are tokens. Throws Error
/// (bad_input) where a logit is NaN, and what Executable::run does.
[[nodiscard]] std::vector<double> score(Decoder& decoder, std::span<const Token> tokens);

}  // namespace attn::generate
