// The names of files that are written beside their target until they are complete: ".NAME.abcdefghijkl.tmp".
#pragma once

#include <string>
#include <vector>

namespace attn::io {

/// Returns the folder of a path; "." if it has none.
[[nodiscard]] std::string folder_of(const std::string& path);

/// Returns a new hidden name in the target's folder.
[[nodiscard]] std::string hidden_name(const std::string& target);

/// Returns the paths of all hidden names for the target, of active and of killed writers.
[[nodiscard]] std::vector<std::string> hidden_names_of(const std::string& target);

}  // namespace attn::io
