// Base64 decoding.
#pragma once

#include <string>
#include <string_view>

namespace attn::tokenizers {

/// Throws Error (bad_input), whose message begins with `place`, for invalid base64 (RFC 4648, 4); padding is required.
[[nodiscard]] std::string from_base64(std::string_view text, const std::string& place);

}  // namespace attn::tokenizers
