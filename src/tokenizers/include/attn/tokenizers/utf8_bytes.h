// A tokenizer for models without one: each byte is a token.
#pragma once

#include <cstdint>
#include <memory>

#include "attn/tokenizers/tokenizer.h"

namespace attn::tokenizers {

/// Creates a tokenizer whose ids are the bytes of a UTF-8 text. The bytes below `size` (at most 256) are tokens.
/// encode() throws Error (usage) for a text with other bytes.
[[nodiscard]] std::unique_ptr<Tokenizer> make_byte_tokenizer(std::int64_t size);

}  // namespace attn::tokenizers
