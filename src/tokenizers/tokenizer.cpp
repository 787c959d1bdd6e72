#include "attn/tokenizers/tokenizer.h"

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::tokenizers {

std::vector<Id> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  if (!is_utf8(text)) throw bad_usage("the text is not valid UTF-8");
  return encode_valid(text, options);
}

}  // namespace attn::tokenizers
