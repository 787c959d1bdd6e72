// Tokens as text: what is shown of them, where it is cut, and how it is written while it comes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/generate/request.h"
#include "attn/report/generation.h"
#include "attn/tokenizers/text_stream.h"
#include "attn/tokenizers/tokenizer.h"
#include "options/options.h"

namespace attn::cli {

/// The options of texts.
struct AnswerWords {
  std::vector<std::string> stops;  ///< --stop
  bool strip_prompt = false, keep_special = false;

  void declare(Options& options);
};

class AnswerText {
 public:
  /// `words` and `tokenizer` outlive it.
  AnswerText(const AnswerWords& words, const tokenizers::Tokenizer& tokenizer) : words_(words), tokenizer_(tokenizer) {}

  /// From now on a text is written to stdout as it comes, behind `begun`.
  void stream(std::string begun);
  /// A token was added to a sequence: true where the text ends with it, because a text of --stop would begin.
  bool take(std::size_t sequence, generate::Token token);
  /// Ends what was streamed.
  void finish();

  /// Ids without special ones as text.
  [[nodiscard]] std::string of(std::span<const generate::Token> ids) const;
  /// The texts of a result's sequence and beams.
  void describe(report::GenerationResult& result) const;

 private:
  void write(generate::Token token);
  [[nodiscard]] std::optional<std::size_t> cut(const std::string& text) const;

  const AnswerWords& words_;
  const tokenizers::Tokenizer& tokenizer_;
  std::vector<std::vector<generate::Token>> added_;  // by sequence, while stop strings are looked for
  std::optional<std::string> begun_;                 // of what is streamed
  std::unique_ptr<tokenizers::TextStream> out_;
};

}  // namespace attn::cli
