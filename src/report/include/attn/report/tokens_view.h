// Texts and their tokens, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/report/format.h"

namespace attn::report {

/// A text that became ids, or ids that became a text.
struct TokenizedText {
  std::optional<std::string> text;  ///< valid UTF-8; nothing where ids were given
  std::vector<std::int32_t> ids;
  std::vector<std::string> tokens;  ///< as the tokenizer's file spells them
  std::vector<std::string> parts;   ///< what each adds to the text: "" where a letter is not whole yet
  std::string decoded;              ///< bytes: byte-level tokens may end inside a letter
};

struct TokensReport {
  std::string class_name;
  std::int64_t size = 0;  ///< of the vocabulary
  std::optional<std::int32_t> start, end, pad;
  std::vector<std::int32_t> stop;
  std::vector<TokenizedText> texts;
};

/// table: the tokens of each text. text: what the ids of each text stand for, each with a line feed behind it. ids: a
/// line for each text, "464,2746". json: "attn.tokenize/1".
[[nodiscard]] std::string render(Format format, const TokensReport& report);

}  // namespace attn::report
