// The rules about which tokens may follow, as in transformers' WhisperTimeStampLogitsProcessor.
#pragma once

#include <cstddef>
#include <span>

#include "whisper_tokens.h"

namespace attn::transcribe {

class WhisperRules {
 public:
  /// `prompt`: number of tokens before the first chosen one.
  WhisperRules(const WhisperTokens& tokens, bool timestamps, std::size_t prompt)
      : tokens_(tokens), timestamps_(timestamps), prompt_(prompt) {}

  /// Excludes the tokens that must not follow `given` by logits of -inf.
  void apply(std::span<const Id> given, std::span<float> logits) const;

 private:
  void apply_timestamps(std::span<const Id> chosen, std::span<float> logits) const;

  const WhisperTokens& tokens_;
  bool timestamps_;
  std::size_t prompt_;
};

}  // namespace attn::transcribe
