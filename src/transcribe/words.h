// Groups tokens into words, as transformers does.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tokenizers/tokenizer.h"

namespace attn::transcribe {

/// A word and its tokens, from `first` to `last`.
struct WordTokens {
  std::string text;  ///< valid UTF-8, with its space
  std::size_t first = 0, last = 0;
};

/// Returns whether texts of a language, given by its code, have spaces between words.
[[nodiscard]] bool has_spaces(const std::optional<std::string>& language);

/// Groups tokens, which are all of text: at spaces and punctuation, or for languages without spaces at characters.
/// Punctuation is then joined to the word before or after it.
[[nodiscard]] std::vector<WordTokens> words_of(const tokenizers::Tokenizer& tokenizer,
                                               const std::vector<tokenizers::Id>& tokens, bool spaced);

}  // namespace attn::transcribe
