// Tokens that are looked for in a text before anything else is done to it: "<|endoftext|>".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trie.h"

namespace attn::tokenizers {

/// As an entry of "added_tokens" in a tokenizer.json says it.
struct AddedToken {
  Id id = 0;
  std::string content;
  bool special = true;
  bool normalized = false;   ///< it is looked for in the normalised text
  bool single_word = false;  ///< no word may touch it
  bool lstrip = false;       ///< white space before it is part of it
  bool rstrip = false;       ///< and behind it
};

/// A part of a text: an added token, or text between two.
struct Section {
  std::size_t from, to;
  std::optional<Id> token;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  /// The contents are what is looked for; empty ones never are.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  /// All of `text` in sections; where several tokens match at a place the longest does. `with_special`: special tokens
  /// are looked for too, and otherwise are text.
  [[nodiscard]] std::vector<Section> sections(std::string_view text, bool with_special) const;

  [[nodiscard]] bool empty() const noexcept { return tokens_.empty(); }

 private:
  std::vector<AddedToken> tokens_;
  Trie trie_;                 // of indices into tokens_
  std::vector<bool> begins_;  // by byte: does any token begin with it?
};

}  // namespace attn::tokenizers
