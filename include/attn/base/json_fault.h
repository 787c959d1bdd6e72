// The fault of a text that is not valid JSON, for parsers that report only its place.
#pragma once

#include <string>
#include <string_view>

namespace attn {

/// "a comma before '}'", "an empty text", "it begins with 'hello'"; "" if nothing of that kind is at `offset`, the
/// place of the last character that the parser read.
[[nodiscard]] std::string json_fault(std::string_view text, std::size_t offset);

}  // namespace attn
