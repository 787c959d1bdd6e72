// Errors of system calls.
#pragma once

#include <string_view>

#include "attn/base/error.h"

namespace attn {

/// Returns the Error for a system call on `place` that failed with `error` (errno): no_memory if memory was exhausted,
/// otherwise bad_input.
[[nodiscard]] Error system_error(std::string_view place, std::string_view what, int error);

}  // namespace attn
