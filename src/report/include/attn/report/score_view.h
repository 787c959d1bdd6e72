// How likely a model holds texts, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/report/format.h"

namespace attn::report {

struct ScoredToken {
  std::int32_t id = 0;
  std::string token;               ///< as the tokenizer's file spells it; "" without a tokenizer
  std::optional<double> log_prob;  ///< ln p after the tokens before; nothing for the first of all
};

struct ScoredText {
  std::optional<std::string> text;  ///< nothing where ids were given
  std::vector<ScoredToken> tokens;

  /// How many have a probability.
  [[nodiscard]] std::int64_t scored() const;
  /// All of them together.
  [[nodiscard]] double log_prob() const;
  /// e to the mean of -ln p.
  [[nodiscard]] double perplexity() const;
};

struct ScoreReport {
  std::string path, class_name, tokenizer;  ///< of the model
  std::string weights;                      ///< where they came from
  std::vector<ScoredText> texts;
};

/// table: the tokens of each text. json: "attn.score/1".
[[nodiscard]] std::string render(Format format, const ScoreReport& report);

}  // namespace attn::report
