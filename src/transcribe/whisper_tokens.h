// The special tokens of a Whisper model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/open/model.h"
#include "attn/tokenizers/tokenizer.h"

namespace attn::transcribe {

using tokenizers::Id;

/// A head of the decoder's attention to the encoder that follows the words.
struct AlignmentHead {
  std::int64_t layer = 0, head = 0;
};

struct WhisperTokens {
  Id start = 0, end = 0, no_timestamps = 0;
  std::optional<Id> transcribe, translate;
  std::vector<std::pair<std::string, Id>> languages;  ///< by code; empty for a model of English only
  std::vector<Id> suppressed, suppressed_at_begin;    ///< tokens that are never chosen, and never at the beginning
  std::optional<Id> most_initial;                     ///< the latest first timestamp, in steps
  std::optional<std::int64_t> max_length;             ///< of a window, including the prompt
  std::vector<AlignmentHead> alignment_heads;         ///< of generation_config.json

  /// Returns the timestamp of the beginning of a window; the following ids are later.
  [[nodiscard]] Id first_timestamp() const { return no_timestamps + 1; }
  /// Returns the number of tokens of the longest prompt: start, language, task, no timestamps.
  [[nodiscard]] std::int64_t longest_prompt() const {
    const bool has_task = !languages.empty() && (transcribe || translate);
    return 2 + (languages.empty() ? 0 : 1) + (has_task ? 1 : 0);
  }
};

/// Finds the tokens by their names, and the rules in generation_config.json of a Hugging Face folder; a preset of
/// KerasHub has OpenAI's rules. Throws Error (bad_input) if a token is missing.
[[nodiscard]] WhisperTokens whisper_tokens(const open::LoadedModel& loaded, const tokenizers::Tokenizer& tokenizer);

/// Returns the token of a language, given its code or its English name, with its code. Throws Error (usage) for a
/// language that the model does not have.
[[nodiscard]] std::pair<std::string, Id> language_token(const WhisperTokens& tokens, const std::string& language);

}  // namespace attn::transcribe
