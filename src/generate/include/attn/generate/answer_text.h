// Tokens as text: the part that is shown, stop strings, and streaming.
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
  std::vector<std::string> stops;  ///< a text ends where one of these strings would begin
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
  /// `words` and `tokenizer` must outlive it.
  AnswerText(const AnswerOptions& words, const tokenizers::Tokenizer& tokenizer)
      : words_(words), tokenizer_(tokenizer) {}

  /// From now on the text is streamed to `write`, after `begun`.
  void stream(std::string begun, std::function<void(const std::string&)> write);
  /// Adds a token to a sequence. Returns true if the text ends with it, because one of AnswerOptions::stops would
  /// begin.
  bool take(std::size_t sequence, Token token);
  /// Ends the stream.
  void finish();

  /// Returns the text of ids, without the special ids.
  [[nodiscard]] std::string of(std::span<const Token> ids) const;
  [[nodiscard]] SequenceText of(const Sequence& sequence) const;

 private:
  void put(Token token);
  [[nodiscard]] std::optional<std::size_t> cut(const std::string& text) const;

  const AnswerOptions& words_;
  const tokenizers::Tokenizer& tokenizer_;
  std::vector<std::vector<Token>> added_;  // one list for each sequence, if there are stop strings
  std::optional<std::string> begun_;       // the start of the streamed text
  std::function<void(const std::string&)> write_;
  std::unique_ptr<tokenizers::TextStream> out_;
};

}  // namespace attn::generate
