// Prompts and tokens of attn probe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments/prompts.h"
#include "attn/open/model.h"
#include "attn/probe/subject.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn::cli {

/// Reads prompts as the model's own preprocessor does, without padding.
class ProbePrompts {
 public:
  /// `start` and `special`: whether texts begin with the start token, and may spell special tokens. Opens the model's
  /// tokenizer if it has one; without it, only ids are accepted.
  ProbePrompts(const std::string& model, const open::LoadedModel& loaded, bool start, bool special,
               const open::Listener& listener);

  /// Returns the prompts of the options; of stdin if there are none.
  [[nodiscard]] std::vector<probe::Prompt> read(const PromptWords& words) const;
  /// Returns the prompts of a file: one text per line, a JSON array, or with .ids a list of ids per line.
  [[nodiscard]] std::vector<probe::Prompt> read_file(const std::string& path) const;
  /// Returns a prompt of text, or of ids if it begins with "#": "#464,2746".
  [[nodiscard]] probe::Prompt read_text(const std::string& text) const;

  /// Returns the id of a word that is one token, or of "#ID". Throws Error (usage) with the pieces, and with the
  /// variant that begins with a space if that is a token.
  [[nodiscard]] probe::Id token(const std::string& word) const;
  /// Returns the spelling of an id, "#12" without a tokenizer.
  [[nodiscard]] std::string word(probe::Id id) const;
  [[nodiscard]] const tokenizers::Tokenizer* tokenizer() const { return tokenizer_.get(); }

 private:
  [[nodiscard]] probe::Prompt packed(const std::string& text, const std::string& decoder_text) const;
  [[nodiscard]] probe::Prompt checked(probe::Prompt prompt) const;

  const open::LoadedModel& loaded_;
  const open::Listener& listener_;
  bool start_, special_, has_encoder_;
  std::unique_ptr<tokenizers::Tokenizer> tokenizer_;
};

}  // namespace attn::cli
