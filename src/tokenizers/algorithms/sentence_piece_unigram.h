// Segmentation of normalized text for SentencePiece's Unigram models.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "files/model_proto.h"
#include "trie.h"

namespace attn::tokenizers {

/// Sums are in single precision in the order of the library's release 0.2. Rounding decides between equal segmentations
/// ("t" and "tt", "tt" and "t"), and older releases add in another order.
class SentencePieceUnigram {
 public:
  explicit SentencePieceUnigram(const ModelProto& proto);

  /// Appends the ids of a text's pieces. Letters that are not pieces become bytes if the model has them; otherwise
  /// adjacent ones become one unknown piece.
  void encode(std::string_view normalized, std::vector<Id>& ids) const;

 private:
  [[nodiscard]] float score_of(std::size_t length, Id id) const;

  std::vector<float> scores_;
  std::vector<bool> user_defined_;
  float highest_ = 0, unknown_score_ = 0;
  Id unknown_ = 0;
  std::array<Id, 256> bytes_{};  // ids of byte pieces; -1 if the model has none
  Trie trie_;
};

}  // namespace attn::tokenizers
