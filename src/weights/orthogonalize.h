// Orthonormalizes random vectors.
#pragma once

#include <cstdint>
#include <span>

namespace attn::weights {

/// Replaces `count` vectors of `length` elements, stored consecutively in `vectors`, by the Q of their QR factorization
/// in which R has a positive diagonal. A vector that depends on earlier ones becomes zero. The number of threads (0:
/// all cores) does not change the result. Throws Stopped.
void orthogonalize(std::span<double> vectors, std::int64_t count, std::int64_t length, int threads);

}  // namespace attn::weights
