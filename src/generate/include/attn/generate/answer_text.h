// Tokens as text: what is shown of them, where it is cut, and how it is written while it comes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/generate/request.h"
#include "attn/tokenizers/text_stream.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn::generate {

struct AnswerOptions {
  std::vector<std::string> stops;  ///< a text ends where one of these would begin
  bool strip_prompt = false, keep_special = false;
};

/// The texts of a sequence and its beams.
struct SequenceText {
  std::optional<std::string> text;
  bool stop_string = false;  ///< whether one of AnswerOptions::stops ended it
  std::vector<std::string> beams;
};

class AnswerText {
 public:
  /// `words` and `tokenizer` outlive it.
  AnswerText(const AnswerOptions& words, const tokenizers::Tokenizer& tokenizer)
      : words_(words), tokenizer_(tokenizer) {}

  /// From now on a text is given to `write` as it comes, behind `begun`.
  void stream(std::string begun, std::function<void(const std::string&)> write);
  /// A token was added to a sequence: true where the text ends with it, because one of AnswerOptions::stops would
  /// begin.
  bool take(std::size_t sequence, Token token);
  /// Ends what was streamed.
  void finish();

  /// Ids without special ones as text.
  [[nodiscard]] std::string of(std::span<const Token> ids) const;
  [[nodiscard]] SequenceText of(const Sequence& sequence) const;

 private:
  void put(Token token);
  [[nodiscard]] std::optional<std::size_t> cut(const std::string& text) const;

  const AnswerOptions& words_;
  const tokenizers::Tokenizer& tokenizer_;
  std::vector<std::vector<Token>> added_;  // by sequence, while stop strings are looked for
  std::optional<std::string> begun_;       // of what is streamed
  std::function<void(const std::string&)> write_;
  std::unique_ptr<tokenizers::TextStream> out_;
};

}  // namespace attn::generate
