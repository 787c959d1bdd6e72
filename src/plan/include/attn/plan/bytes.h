// Sums of bytes that cannot wrap.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace attn::plan {

/// Σ bytes; throws Error (no_memory) where it passes kMaxSize.
[[nodiscard]] std::int64_t sum_of_bytes(std::initializer_list<std::int64_t> bytes);

}  // namespace attn::plan
