// Example command lines: help and manual pages end with them, and the tests run them.
#pragma once

#include <span>
#include <string_view>

namespace attn::cli {

struct Example {
  std::string_view what;  ///< a description: "the weights of a file, the widest spread first"
  std::string_view line;  ///< command line for a shell, in the repository's root
};

/// Returns the examples of a command; empty if there is no such command.
[[nodiscard]] std::span<const Example> examples_of(std::string_view command);

}  // namespace attn::cli
