// The log-likelihood of texts, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/report/format.h"

namespace attn::report {

struct ScoredToken {
  std::int32_t id = 0;
  std::string token;               ///< spelling in the tokenizer's file; "" without a tokenizer
  std::optional<double> log_prob;  ///< ln p given the tokens before; empty for the first token
};

struct ScoredText {
  std::optional<std::string> text;  ///< the text; empty if ids were given
  std::vector<ScoredToken> tokens;

  /// Returns the number of tokens that have a probability.
  [[nodiscard]] std::int64_t scored() const;
  /// Returns Σ ln p over all tokens.
  [[nodiscard]] double log_prob() const;
  /// Returns the perplexity, exp(mean of −ln p).
  [[nodiscard]] double perplexity() const;
};

struct ScoreReport {
  std::string path, class_name, tokenizer;  ///< path and class of the model, and class of the tokenizer
  std::string weights;                      ///< source of the weights
  std::vector<ScoredText> texts;
};

/// table: the tokens of each text. json: "attn.score/1".
[[nodiscard]] std::string render(Format format, const ScoreReport& report);

}  // namespace attn::report
