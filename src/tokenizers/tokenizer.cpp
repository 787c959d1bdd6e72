#include "attn/tokenizers/tokenizer.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/tokenizers/ids.h"

namespace attn::tokenizers {

bool SpecialIds::hides(Id id) const {
  return std::ranges::binary_search(all, id) && std::ranges::find(shown, id) == shown.end();
}

std::vector<Id> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  if (!is_utf8(text)) throw bad_usage("the text is not valid UTF-8");
  return encode_valid(text, options);
}

void expect_ids(std::span<const Id> ids, std::int64_t vocabulary_size) {
  for (const Id id : ids)
    if (id < 0 || id >= vocabulary_size)
      throw bad_usage("token {} is outside the model's vocabulary of {}", id, vocabulary_size);
}

}  // namespace attn::tokenizers
