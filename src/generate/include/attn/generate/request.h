// The request of generate(), and its result.
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
  /// Each has at least one token, and fewer than max_length; longer ones are returned unchanged.
  std::vector<std::vector<Token>> prompts;
  SamplerOptions sampler;
  Dim max_length = 0;  ///< positions of a sequence, prompt included
  Dim max_new_tokens = std::numeric_limits<Dim>::max();
  std::vector<Token> stop_token_ids;
  /// KerasHub also looks for stop tokens in the padding of prompts, before it generates anything. If the pad and stop
  /// tokens are the same, it then generates nothing. If this is set to its pad token, do the same.
  std::optional<Token> pad_token_id;
  /// Called for each token that is added to a sequence, in order; a result of true ends the sequence. Not called in a
  /// beam search.
  std::function<bool(std::size_t sequence, Token token)> on_token;
  /// Speculative decoding for a single sequence: guesses up to `draft_tokens` at a time, which the decoder reads at
  /// once; the matching ones are kept. The sequence is the same as without it, up to rounding of logits that are
  /// computed together.
  Draft* draft = nullptr;
  Dim draft_tokens = 4;
  std::size_t most_likely = 0;  ///< number of top tokens to report with their probabilities at each step
  bool scores = false;          ///< report the log-probability of each new token
  bool keep_logits = false;
};

enum class Finish : std::uint8_t {
  stop,    ///< a stop token, which is included
  length,  ///< max_length or max_new_tokens
  caller   ///< on_token returned true
};

struct TokenScore {
  Token token = 0;
  double log_probability = 0.0;  ///< ln p at temperature 1
};

/// Scores of the token at one position.
struct StepScores {
  TokenScore chosen;
  std::vector<TokenScore> most_likely;  ///< the most likely tokens, in descending order
};

struct Beam {
  std::vector<Token> token_ids;
  double log_probability = 0.0;  ///< Σ log p of the chosen tokens, at the sampler's temperature
};

struct Sequence {
  std::vector<Token> token_ids;  ///< the prompt and the new tokens, including a stop token
  Dim prompt_length = 0;
  Finish finish = Finish::length;
  std::vector<StepScores> scores;          ///< by new token; empty if scores were not requested
  std::vector<std::vector<float>> logits;  ///< by new token; empty if not requested
  std::vector<Beam> beams;                 ///< of a beam search, the best first, cut like token_ids
};

/// Counts of tokens read and generated, and their times.
struct Stats {
  Dim prompt_tokens = 0, new_tokens = 0;
  Dim drafted_tokens = 0, accepted_tokens = 0;  ///< tokens guessed by a draft, and those accepted
  double prompt_seconds = 0.0;                  ///< prefill: until the logits after the prompts are known
  double step_seconds = 0.0;                    ///< decode steps after that
  std::vector<double> steps;                    ///< seconds of each step; a step with a draft may add several tokens
};

struct Generated {
  std::vector<Sequence> sequences;
  Stats stats;
};

}  // namespace attn::generate
