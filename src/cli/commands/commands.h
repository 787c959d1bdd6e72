// All commands.
#pragma once

#include <span>

#include "options/command.h"

namespace attn::cli {

/// In the order in which help lists them.
[[nodiscard]] std::span<const Command> commands();

}  // namespace attn::cli
