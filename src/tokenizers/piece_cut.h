// SentencePiece's Unigram models: how a text that was normalized falls into pieces.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "model_proto.h"
#include "trie.h"

namespace attn::tokenizers {

/// By sums of single precision, as release 0.2 of the library adds them: where two ways to cut a text are equal ("t"
/// and "tt", "tt" and "t") their rounding decides, and older releases add otherwise.
class PieceCut {
 public:
  explicit PieceCut(const ModelProto& proto);

  /// Appends the ids of a text's pieces. Letters that are none are bytes where the model has those, else unknown, side
  /// by side one.
  void encode(std::string_view normalized, std::vector<Id>& ids) const;

 private:
  [[nodiscard]] float score_of(std::size_t length, Id id) const;

  std::vector<float> scores_;
  std::vector<bool> user_defined_;
  float highest_ = 0, unknown_score_ = 0;
  Id unknown_ = 0;
  std::array<Id, 256> bytes_{};  // -1 where the model has none
  Trie trie_;
};

}  // namespace attn::tokenizers
