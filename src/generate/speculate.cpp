// Speculative decoding: a draft guesses tokens, and the decoder confirms them. Each token is chosen from the decoder's
// own logits, with one draw for each token in order. Hence the sequence equals that of single steps.
#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "attn/generate/draft.h"
#include "clock.h"
#include "loops.h"
#include "scores.h"
#include "token_sampler.h"

namespace attn::generate {
namespace {

class Speculation {
 public:
  Speculation(const Request& request, const Prompts& prompts)
      : request_(request), prompts_(prompts), sampler_(request.sampler) {
    sequence_.token_ids = prompts.begin_of(0);
    sequence_.prompt_length = prompts.length(0);
    ended_ = prompts.end_of(0) == prompts.length(0);
  }

  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] const std::vector<Token>& tokens() const { return sequence_.token_ids; }
  /// Returns the position to fill next.
  [[nodiscard]] Dim position() const { return std::ssize(sequence_.token_ids); }

  /// Appends the token chosen by the logits of a row, and returns it.
  Token choose(const DecoderOutput& ahead, Dim row) {
    const std::span<const float> logits = logits_of(ahead, row, position());
    const Token token = sampler_.choose({&logits, 1}).front();
    sequence_.token_ids.push_back(token);
    keep_scores(request_, logits, token, sequence_);
    const bool enough = request_.on_token && request_.on_token(0, token);
    if (prompts_.is_stop(token)) {
      sequence_.finish = Finish::stop;
    } else if (enough) {
      sequence_.finish = Finish::caller;
    }
    ended_ = sequence_.finish != Finish::length || position() == prompts_.end_of(0);
    return token;
  }

  [[nodiscard]] Sequence take() { return std::move(sequence_); }

 private:
  const Request& request_;
  const Prompts& prompts_;
  TokenSampler sampler_;
  Sequence sequence_;
  bool ended_ = false;
};

}  // namespace

Generated speculate(Decoder& decoder, const Request& request, const Prompts& prompts) {
  Clock clock;
  Speculation growing(request, prompts);
  Dim drafted = 0, accepted = 0;
  while (!growing.ended()) {
    throw_if_stopped();
    const Dim position = growing.position();
    if (position == prompts.length(0)) {
      const DecoderOutput ahead = decoder.advance({growing.tokens(), 1, position, 0, {}, false});
      clock.prompt_is_read(position);
      growing.choose(ahead, 0);
      clock.step_is_done();
      continue;
    }
    // Always uses the same count, with unused tokens at the end if fewer are guessed, because each count needs its own
    // plan.
    const Dim count = std::min(request.draft_tokens, decoder.capacity()) + 1;
    std::vector<Token> guessed;
    if (position - 1 + count <= decoder.capacity())
      guessed = request.draft->propose(growing.tokens(), std::min(request.draft_tokens, prompts.end() - position - 1));
    std::vector<Token> given = {growing.tokens().back()};
    if (!guessed.empty()) {
      given.insert(given.end(), guessed.begin(), guessed.end());
      given.resize(static_cast<std::size_t>(count), given.back());
    }
    const DecoderOutput ahead = decoder.advance({given, 1, std::ssize(given), position - 1, {}, !guessed.empty()});
    drafted += std::ssize(guessed);
    for (std::size_t i = 0;; ++i) {
      const Token token = growing.choose(ahead, static_cast<Dim>(i));
      const bool agrees = i < guessed.size() && token == guessed[i];
      if (agrees) ++accepted;
      if (!agrees || growing.ended()) break;
    }
    clock.step_is_done();
  }
  Generated out;
  out.sequences.push_back(growing.take());
  out.stats = clock.stats(out.sequences);
  out.stats.drafted_tokens = drafted;
  out.stats.accepted_tokens = accepted;
  return out;
}

}  // namespace attn::generate
