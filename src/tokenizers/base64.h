// Bytes that are written as text.
#pragma once

#include <string>
#include <string_view>

namespace attn::tokenizers {

/// Throws Error (bad_input) that begins with `place` for what is no base64 (RFC 4648, 4) with its padding.
[[nodiscard]] std::string from_base64(std::string_view text, const std::string& place);

}  // namespace attn::tokenizers
