// Greedy longest match: the longest token that begins the rest of a text comes next (RWKV).
#pragma once

#include "algorithms/trie.h"
#include "model.h"

namespace attn::tokenizers {

class LongestMatch final : public Model {
 public:
  explicit LongestMatch(Vocabulary vocabulary);

  /// Throws Error (bad_input) where no token begins the rest of the piece.
  void encode(std::string_view piece, std::vector<Id>& ids, Memory* memory) const override;

 private:
  Trie trie_;
};

}  // namespace attn::tokenizers
