// Chooses tokens under rules: greedily, or by a beam search as in transformers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attn/generate/decoder.h"

namespace attn::transcribe {

using generate::Token;

struct Search {
  std::vector<Token> prompt;
  Dim max_length = 0;  ///< tokens of a sequence, including the prompt
  Token end = 0;       ///< ends a sequence
  std::int64_t beams = 1;
  /// Excludes tokens that must not follow the given ones by logits of -inf; the prompt is part of the given ones.
  std::function<void(std::span<const Token> given, std::span<float> logits)> rules;
};

/// Returns the tokens after the prompt, including the end token. The decoder must have `beams` rows. More than one beam
/// is transformers' beam search with its defaults: scores are means of log-probabilities, and the search stops if the
/// best open beam is worse than the worst ended one. Throws Error (bad_input) if logits are NaN or infinite, and
/// Stopped.
[[nodiscard]] std::vector<Token> search(generate::Decoder& decoder, const Search& how);

}  // namespace attn::transcribe
