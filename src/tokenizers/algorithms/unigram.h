// Unigram: the most probable segmentation of a text into tokens.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "model.h"
#include "trie.h"

namespace attn::tokenizers {

/// Matches `models::Unigram` of Hugging Face's tokenizers, whose ids equal those of SentencePiece.
class Unigram : public Model {
 public:
  /// `scores` are log-probabilities by id, one for each token. `unk` is the unknown token. Throws Error (bad_input) if
  /// it is not a token.
  Unigram(Vocabulary vocabulary, std::vector<double> scores, std::optional<Id> unk, bool byte_fallback);

  /// Throws Error (bad_input) for an unknown letter if there is no unknown token.
  void encode(std::string_view piece, std::vector<Id>& ids, Memory* memory) const override;

 private:
  std::vector<double> scores_;
  double unknown_score_ = 0;
  std::optional<Id> unknown_;
  std::array<Id, 256> bytes_{};  // id of "<0x00>" …; -1 if that is not a token, or without byte fallback
  Trie trie_;
};

}  // namespace attn::tokenizers
