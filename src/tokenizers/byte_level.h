// Bytes written as letters, as GPT-2 does it: every byte has a letter that is seen, so that a token is always text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn::tokenizers {

/// Each byte as its letter: " a\n" → "ĠaĊ".
[[nodiscard]] std::string byte_letters(std::string_view bytes);

/// The bytes of letters; nothing where one stands for no byte.
[[nodiscard]] std::optional<std::string> bytes_of_letters(std::string_view letters);

}  // namespace attn::tokenizers
