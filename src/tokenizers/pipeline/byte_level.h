// Byte-level encoding as in GPT-2: every byte has a printable letter, so that a token is always text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn::tokenizers {

/// Converts each byte to its letter: " a\n" → "ĠaĊ".
[[nodiscard]] std::string byte_letters(std::string_view bytes);

/// Converts letters to bytes; empty if a letter stands for no byte.
[[nodiscard]] std::optional<std::string> bytes_of_letters(std::string_view letters);

}  // namespace attn::tokenizers
