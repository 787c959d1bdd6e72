// What things are called that are written beside their target until they are whole: ".NAME.abcdefghijkl.tmp".
#pragma once

#include <string>
#include <vector>

namespace attn::io {

/// "." for a path without one.
[[nodiscard]] std::string folder_of(const std::string& path);

/// A new name, in the target's folder.
[[nodiscard]] std::string hidden_name(const std::string& target);

/// The paths of all that have such a name for the target: of writers at work, and of those that were killed.
[[nodiscard]] std::vector<std::string> hidden_beside(const std::string& target);

}  // namespace attn::io
