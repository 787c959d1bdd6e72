// Text as its ids come, one at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/tokenizers/tokenizer.h"

namespace attn::tokenizers {

/// Gives out what `decode` of all ids would, part by part. Bytes that may still become a letter are held back, so every
/// part is whole letters. An id takes the same time however many came before, but for bytes in a row that are no
/// letters.
class TextStream {
 public:
  /// `tokenizer` outlives the stream.
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// The text that is certain now and was not before; "" where none is. Throws Error (usage) for an id that is none of
  /// the vocabulary.
  [[nodiscard]] std::string push(Id id);
  /// What was held back, as it is. The stream begins anew after it.
  [[nodiscard]] std::string finish();

 private:
  std::string begin_anew();

  const Tokenizer& tokenizer_;
  std::vector<Id> ids_;          // the last that gave text, and what came since
  std::string shown_;            // the part of their text that was given out
  std::size_t given_ids_ = 0;    // of ids_, those that came before the last part
  std::size_t given_since_ = 0;  // bytes given out of the text of the others
};

}  // namespace attn::tokenizers
