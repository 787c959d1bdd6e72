// Orthonormal columns out of random ones.
#pragma once

#include <cstdint>
#include <span>

namespace attn::weights {

/// Replaces `count` vectors of `length` numbers each, one after another in `vectors`, by the Q of their QR
/// factorisation in which R has a positive diagonal. A vector that depends on those before it becomes zero.
void orthogonalize(std::span<double> vectors, std::int64_t count, std::int64_t length);

}  // namespace attn::weights
