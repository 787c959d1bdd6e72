// Files installed with attn.
#pragma once

#include <string>

namespace attn {

/// Returns the path of one of attn's own programs or plugins, or "" if it is not found. It may be beside the program or
/// library that contains this code, in the folder above (as for tests), or in the installation folder.
[[nodiscard]] std::string companion(const std::string& name);

}  // namespace attn
