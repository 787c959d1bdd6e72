// WordPiece: a word is taken apart from its front, the longest token first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model.h"
#include "trie.h"

namespace attn::tokenizers {

class WordPiece : public Model {
 public:
  enum class Measure : std::uint8_t { bytes, points };
  struct Options {
    std::string unk_token = "[UNK]";  ///< for a word that cannot be taken apart, and one that is too long
    std::string prefix = "##";        ///< of tokens that go on with a word
    std::int64_t longest_word = 100;
    Measure measure = Measure::points;  ///< what longest_word counts: Hugging Face code points, KerasHub bytes
  };

  /// Throws Error (bad_input) where the vocabulary lacks the unknown token.
  WordPiece(Vocabulary vocabulary, const Options& options);

  void encode(std::string_view word, std::vector<Id>& ids, Memory* memory) const override;

 private:
  Options options_;
  Id unknown_;
  Trie starts_, continuations_;
};

}  // namespace attn::tokenizers
