// Streaming decoder: text from ids that arrive one at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/tokenizers/tokenizer.h"

namespace attn::tokenizers {

/// Returns the text of `decode` for all ids, part by part. Incomplete characters are held back, so every part is valid
/// on its own. The time for an id does not depend on the ids before it, except in a run of bytes that form no
/// character.
class TextStream {
 public:
  /// `tokenizer` must outlive the stream.
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// Returns the new text that later ids cannot change; "" if there is none. Throws Error (usage) for an id outside the
  /// vocabulary.
  [[nodiscard]] std::string push(Id id);
  /// Returns the text that was held back, and resets the stream.
  [[nodiscard]] std::string finish();

 private:
  std::string begin_anew();

  const Tokenizer& tokenizer_;
  std::vector<Id> ids_;          // ids of the last part with text, and later ones
  std::string shown_;            // the prefix of the text of ids_ that was returned
  std::size_t given_ids_ = 0;    // the ids in ids_ that precede the last part
  std::size_t given_since_ = 0;  // returned bytes of the later ids' text
};

}  // namespace attn::tokenizers
