// Progress reports.
#pragma once

#include <functional>

namespace attn::run {

/// Called with the work done since the last call, in the unit that the function documents. May be empty.
using Advance = std::function<void(double)>;

}  // namespace attn::run
