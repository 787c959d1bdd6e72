// Each character of a text is a token (PARSeq).
#pragma once

#include "model.h"

namespace attn::tokenizers {

class CharacterTable final : public Model {
 public:
  enum class Case : std::uint8_t { kept, lower, upper };

  /// Letters of ASCII are converted to `letters` first. `most`: the number of characters after which a text is cut.
  CharacterTable(Vocabulary vocabulary, Case letters, std::int64_t most);

  /// Skips characters that are not printable ASCII, or not in the vocabulary.
  void encode(std::string_view piece, std::vector<Id>& ids, Memory* memory) const override;

 private:
  Case letters_;
  std::int64_t most_;
};

}  // namespace attn::tokenizers
