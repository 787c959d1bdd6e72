// Command lines that show what a command is for: help and manual pages end with them, and the tests run them.
#pragma once

#include <span>
#include <string_view>

namespace attn::cli {

struct Example {
  std::string_view what;  ///< "the weights of a file, the widest spread first"
  std::string_view line;  ///< for a shell, in the repository's root
};

/// Empty for a command that there is not.
[[nodiscard]] std::span<const Example> examples_of(std::string_view command);

}  // namespace attn::cli
