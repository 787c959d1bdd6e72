// Tokens that are found in a text before any other processing: "<|endoftext|>".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/trie.h"

namespace attn::tokenizers {

/// An entry of "added_tokens" in a tokenizer.json.
struct AddedToken {
  Id id = 0;
  std::string content;
  bool special = true;
  bool normalized = false;   ///< matches in the normalized text
  bool single_word = false;  ///< matches only whole words
  bool lstrip = false;       ///< also matches white space before the token
  bool rstrip = false;       ///< also matches white space after the token
};

/// A section of a text: an added token, or the text between two.
struct Section {
  std::size_t from, to;
  std::optional<Id> token;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  /// Searches for the contents of the tokens; empty ones never match.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  /// Splits all of `text` into sections; the longest token at a position wins. Special tokens are matched only if
  /// `with_special` is set, and otherwise are text.
  [[nodiscard]] std::vector<Section> sections(std::string_view text, bool with_special) const;

  [[nodiscard]] bool empty() const noexcept { return tokens_.empty(); }

 private:
  std::vector<AddedToken> tokens_;
  Trie trie_;                 // maps to indices in tokens_
  std::vector<bool> begins_;  // whether a token begins with the byte
};

}  // namespace attn::tokenizers
