// Suggestions for an option or an argument that a command does not have.
#pragma once

#include <string>
#include <string_view>

#include "options/option_tree.h"

namespace attn::cli {

/// " (did you mean '--learning-rate'?)": of an option, as "--lr" or "-n", that the command does not have; "" where
/// nothing is near.
[[nodiscard]] std::string meant_option(std::string_view word, const CommandSpec& command);

/// "; did you mean --input x.npz?": of an argument that is one too many.
[[nodiscard]] std::string meant_argument(std::string_view word, const CommandSpec& command);

}  // namespace attn::cli
