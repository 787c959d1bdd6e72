// Names chosen with * and ?, as in a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Returns whether the pattern matches the whole name. "*" matches any text, also with "/" in it, and "?" one byte.
[[nodiscard]] bool matches(std::string_view name, std::string_view pattern);

/// Returns whether any of the patterns matches the whole name.
[[nodiscard]] bool matches_any(std::string_view name, const std::vector<std::string>& patterns);

}  // namespace attn
