// Texts and their tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/report/format.h"

namespace attn::report {

/// A text that was encoded, or ids that were decoded.
struct TokenizedText {
  std::optional<std::string> text;  ///< the text in valid UTF-8; empty if ids were given
  std::vector<std::int32_t> ids;
  std::vector<std::string> tokens;  ///< spelling of each token in the tokenizer's file
  std::vector<std::string> parts;   ///< the text that each token adds; "" for an incomplete character
  std::string decoded;              ///< decoded bytes: byte-level tokens may end inside a character
};

struct TokensReport {
  std::string class_name;
  std::int64_t size = 0;  ///< number of tokens in the vocabulary
  std::optional<std::int32_t> start, end, pad;
  std::vector<std::int32_t> stop;
  std::vector<TokenizedText> texts;
};

/// table: the tokens of each text. text: the decoded text for each list of ids, each followed by a newline. ids: a line
/// for each text, "464,2746". json: "attn.tokenize/1".
[[nodiscard]] std::string render(Format format, const TokensReport& report);

}  // namespace attn::report
