// What generate() is asked for, and what it gives.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "attn/generate/decoder.h"
#include "attn/generate/sampler.h"

namespace attn::generate {

class Draft;  // attn/generate/draft.h

struct Request {
  /// Each at least one token, and fewer than max_length; longer ones are given back as they are.
  std::vector<std::vector<Token>> prompts;
  SamplerOptions sampler;
  Dim max_length = 0;  ///< positions of a sequence, prompt included
  Dim max_new_tokens = std::numeric_limits<Dim>::max();
  std::vector<Token> stop_token_ids;
  /// KerasHub looks for stop tokens in the padding of prompts too, before anything is generated; where pad and stop are
  /// one token it generates nothing then. Given, its pad token: do the same.
  std::optional<Token> pad_token_id;
  /// Told of each token that is added to a sequence, in their order; true ends it. Not asked by a search over beams.
  std::function<bool(std::size_t sequence, Token token)> on_token;
  /// Guesses up to `draft_tokens` at a time of the one sequence; the decoder reads them at once, and what they agree
  /// with is kept. The sequence is the same as without, as far as the decoder's logits are when tokens come together.
  Draft* draft = nullptr;
  Dim draft_tokens = 4;
  std::size_t most_likely = 0;  ///< so many tokens with their probabilities at each step
  bool scores = false;          ///< the log-probability of each token that was added
  bool keep_logits = false;
};

enum class Finish : std::uint8_t {
  stop,    ///< a stop token, which is the last
  length,  ///< max_length or max_new_tokens
  caller   ///< on_token said so
};

struct TokenScore {
  Token token = 0;
  double log_probability = 0.0;  ///< at temperature 1
};

/// What was added at one position.
struct StepScores {
  TokenScore chosen;
  std::vector<TokenScore> most_likely;  ///< the greatest first
};

struct Beam {
  std::vector<Token> token_ids;
  double log_probability = 0.0;  ///< Σ log p of what was chosen, at the sampler's temperature
};

struct Sequence {
  std::vector<Token> token_ids;  ///< the prompt, and what was added, a stop token included
  Dim prompt_length = 0;
  Finish finish = Finish::length;
  std::vector<StepScores> scores;          ///< by added token; empty where no scores were asked for
  std::vector<std::vector<float>> logits;  ///< by added token; empty where they were not asked for
  std::vector<Beam> beams;                 ///< of a beam search, the likeliest first, cut as token_ids are
};

/// How many tokens were read and added, and the seconds that took.
struct Stats {
  Dim prompt_tokens = 0, new_tokens = 0;
  Dim drafted_tokens = 0, accepted_tokens = 0;  ///< guessed by a draft, and right
  double prompt_seconds = 0.0;                  ///< until the logits behind the prompts were there
  double step_seconds = 0.0;                    ///< from then on
  std::vector<double> steps;                    ///< seconds of each; one with a draft may add several tokens
};

struct Generated {
  std::vector<Sequence> sequences;
  Stats stats;
};

}  // namespace attn::generate
