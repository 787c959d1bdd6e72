#pragma once

#include <string>
#include <string_view>

namespace attn::tokenizers {

/// Returns the bytes of a Python literal: 'text' or "text" in UTF-8, or b'bytes', with Python's escapes except \N{…}.
/// Throws Error (bad_input), whose message begins with `place`, for anything else.
[[nodiscard]] std::string bytes_of_literal(std::string_view literal, const std::string& place);

}  // namespace attn::tokenizers
