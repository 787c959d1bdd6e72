// The number of rows up to which a product reads a weight in its stored layout.
#pragma once

#include <cstdint>

namespace attn::backends {

/// The maximum number of rows of a GEMV, which reads the weight as it is stored. For more rows a packed copy is faster.
inline constexpr std::int64_t kMostGemvRows = 8;

}  // namespace attn::backends
