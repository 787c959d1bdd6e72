// Files installed with attn.
#pragma once

#include <string>

namespace attn {

/// Returns the path of one of attn's own programs or plugins, or "" if it is not found. The search covers the folder of
/// the program or library that contains this code, its parent folder (for tests, which have a folder of their own), and
/// the installation folder.
[[nodiscard]] std::string companion(const std::string& name);

}  // namespace attn
