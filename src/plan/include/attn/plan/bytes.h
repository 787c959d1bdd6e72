// Overflow-checked sums of bytes.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace attn::plan {

/// Returns Σ bytes; throws Error (no_memory) if it exceeds kMaxSize.
[[nodiscard]] std::int64_t sum_of_bytes(std::initializer_list<std::int64_t> bytes);

}  // namespace attn::plan
