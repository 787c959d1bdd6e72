// How long work tells its caller that it moves on.
#pragma once

#include <functional>

namespace attn::run {

/// Called with what was done since the last call, in the unit that the function says. Nobody may be listening.
using Advance = std::function<void(double)>;

}  // namespace attn::run
