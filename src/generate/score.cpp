#include "attn/generate/score.h"

#include <algorithm>

#include "attn/base/stop.h"
#include "probabilities.h"
#include "scores.h"

namespace attn::generate {

std::vector<double> score(Decoder& decoder, std::span<const Token> tokens) {
  constexpr Dim kAtATime = 128;  // number of positions whose logits are in memory together
  expect_ids(tokens, decoder.vocabulary_size());
  std::vector<double> out;
  const auto count = static_cast<Dim>(tokens.size()) - 1;  // logits after the last token are not needed
  for (Dim from = 0; from < count; from += kAtATime) {
    throw_if_stopped();
    Advance step;
    step.rows = 1;
    step.count = std::min(kAtATime, count - from);
    step.position = from;
    step.tokens = tokens.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(step.count));
    step.every_position = true;
    const DecoderOutput ahead = decoder.advance(step);
    for (Dim i = 0; i < step.count; ++i)
      out.push_back(log_probability(logits_of(ahead, i, from + i + 1), tokens[static_cast<std::size_t>(from + i + 1)]));
  }
  return out;
}

}  // namespace attn::generate
