// Names chosen with * and ?, as in a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Does the pattern stand for the whole name? "*" stands for any text, also with "/" in it, "?" for one byte.
[[nodiscard]] bool matches(std::string_view name, std::string_view pattern);

/// Does any of them?
[[nodiscard]] bool matches_any(std::string_view name, const std::vector<std::string>& patterns);

}  // namespace attn
