// Weights in memory of their own.
#pragma once

#include <vector>

#include "attn/base/tensor.h"

namespace attn::weights {

/// The same numbers in one block of large pages, which is read faster than pages of a mapped file: what a decoder reads
/// again for each token. Every tensor is let go of as soon as it is copied, so that the pages of a file are not in
/// memory beside the copies. Throws Error (no_memory).
[[nodiscard]] std::vector<Tensor> settled(std::vector<Tensor> weights, int threads);

}  // namespace attn::weights
