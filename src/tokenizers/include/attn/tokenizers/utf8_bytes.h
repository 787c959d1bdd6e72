// The tokenizer of models that have none: each byte is a token.
#pragma once

#include <cstdint>
#include <memory>

#include "attn/tokenizers/tokenizer.h"

namespace attn::tokenizers {

/// Ids are the bytes of a UTF-8 text; those below `size` are tokens, at most 256. encode() throws Error (usage) for a
/// text with others.
[[nodiscard]] std::unique_ptr<Tokenizer> make_byte_tokenizer(std::int64_t size);

}  // namespace attn::tokenizers
