// All commands.
#pragma once

#include <span>

#include "options/command.h"

namespace attn::cli {

/// Returns all commands in the order of the help.
[[nodiscard]] std::span<const Command> commands();

}  // namespace attn::cli
