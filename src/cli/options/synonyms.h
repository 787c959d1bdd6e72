// Suggestions for unknown options and arguments.
#pragma once

#include <string>
#include <string_view>

#include "options/option_tree.h"

namespace attn::cli {

/// Returns " (did you mean '--learning-rate'?)" for an unknown option such as "--lr" or "-n"; "" if nothing is similar.
[[nodiscard]] std::string meant_option(std::string_view word, const CommandSpec& command);

/// Returns "; did you mean --input x.npz?" for a superfluous argument.
[[nodiscard]] std::string meant_argument(std::string_view word, const CommandSpec& command);

}  // namespace attn::cli
