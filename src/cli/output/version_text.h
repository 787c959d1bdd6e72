// The text of --version.
#pragma once

#include <string>

namespace attn::cli {

/// Returns the version on a line of its own, and lines that list what this program contains and finds: the build, the
/// backends with their instruction sets, the companions, and the libraries with their versions.
[[nodiscard]] std::string version_text();

}  // namespace attn::cli
