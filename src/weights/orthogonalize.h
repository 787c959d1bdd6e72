// Orthonormal columns out of random ones.
#pragma once

#include <cstdint>
#include <span>

namespace attn::weights {

/// Replaces `count` vectors of `length` numbers each, one after another in `vectors`, by the Q of their QR
/// factorisation in which R has a positive diagonal. A vector that depends on those before it becomes zero. On so many
/// threads (0: all), whose number changes nothing but the time. Throws Stopped.
void orthogonalize(std::span<double> vectors, std::int64_t count, std::int64_t length, int threads);

}  // namespace attn::weights
