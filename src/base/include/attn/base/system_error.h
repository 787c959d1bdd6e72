// What the system says of a call that failed.
#pragma once

#include <string_view>

#include "attn/base/error.h"

namespace attn {

/// An Error for a system call on `place` that failed with `error` (errno): no_memory where memory ran out, else
/// bad_input.
[[nodiscard]] Error system_error(std::string_view place, std::string_view what, int error);

}  // namespace attn
