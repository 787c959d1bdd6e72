// Prompts and tokens of a model under study.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/error.h"
#include "attn/open/model.h"
#include "attn/probe/subject.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn::library {

/// Reads prompts as the model's own preprocessor does, without padding.
class ProbePrompts {
 public:
  /// `path` is the path of the model's files, if it has any. `start` and `special`: whether texts begin with the start
  /// token, and may spell special tokens. Opens the model's tokenizer if it has one; without it, only ids are accepted.
  ProbePrompts(const std::optional<std::string>& path, const open::LoadedModel& loaded, bool start, bool special,
               const open::Listener& listener);

  /// Returns the prompt of a text. The decoder of a model with an encoder reads `decoder_text` behind its start token.
  [[nodiscard]] probe::Prompt from_text(const std::string& text, const std::string& decoder_text = "") const;
  /// Returns the prompt of ids; `encoder` is empty for a model without an encoder. Throws Error (usage) if a side has
  /// no tokens, or more than the model has positions.
  [[nodiscard]] probe::Prompt from_ids(std::vector<probe::Id> ids, std::vector<probe::Id> encoder = {}) const;

  /// Returns the id of a word that is one token, or of "#ID". Throws Error (usage) with the pieces, and with the
  /// variant that begins with a space if that is a token.
  [[nodiscard]] probe::Id token(const std::string& word) const;
  /// Returns the index of a logit: token(word), or for a classifier the class "#ID".
  [[nodiscard]] probe::Id output(const std::string& word) const;
  /// Returns the token of a baseline of integrated gradients: of "pad" the tokenizer's padding, else its end token,
  /// else 0; nothing for "zero"; otherwise token(word).
  [[nodiscard]] std::optional<probe::Id> baseline(const std::string& word) const;
  /// Returns the spelling of an id, "#12" without a tokenizer.
  [[nodiscard]] std::string word(probe::Id id) const;
  [[nodiscard]] bool has_encoder() const { return has_encoder_; }

 private:
  const open::LoadedModel& loaded_;
  const open::Listener& listener_;
  bool start_, special_, has_encoder_;
  std::unique_ptr<tokenizers::Tokenizer> tokenizer_;
  std::optional<Error> refusal_;  // why there is no tokenizer
};

}  // namespace attn::library
