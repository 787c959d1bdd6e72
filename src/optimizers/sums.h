// Sums over many numbers, in double. Private to the room.
#pragma once

#include <cstdint>

namespace attn::optimizers {

/// Σ x²
[[nodiscard]] double sum_of_squares(const float* x, std::int64_t count);
/// Σ x
[[nodiscard]] double sum_of(const float* x, std::int64_t count);

}  // namespace attn::optimizers
