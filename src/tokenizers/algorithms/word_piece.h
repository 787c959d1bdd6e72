// WordPiece: splits a word from its beginning, with the longest token first.
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
    std::string unk_token = "[UNK]";  ///< the token for a word that cannot be split, or is too long
    std::string prefix = "##";        ///< prefix of continuation tokens
    std::int64_t longest_word = 100;
    Measure measure = Measure::points;  ///< unit of longest_word: code points in Hugging Face's library, bytes in
                                        ///< KerasHub
  };

  /// Throws Error (bad_input) if the vocabulary lacks the unknown token.
  WordPiece(Vocabulary vocabulary, const Options& options);

  void encode(std::string_view word, std::vector<Id>& ids, Memory* memory) const override;

 private:
  Options options_;
  Id unknown_;
  Trie starts_, continuations_;
};

}  // namespace attn::tokenizers
