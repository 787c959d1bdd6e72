// Texts and their tokens, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

/// A table of tokens for each text.
[[nodiscard]] std::string tokens_text(const TokensReport& report);
/// "attn.tokenize/1"
[[nodiscard]] std::string tokens_json(const TokensReport& report);
/// The ids of each text on a line: "464,2746".
[[nodiscard]] std::string tokens_ids(const TokensReport& report);
/// What the ids of each text stand for, byte for byte, each with a line feed behind it.
[[nodiscard]] std::string tokens_decoded(const TokensReport& report);

}  // namespace attn::report
