// The places of tokens in a sound, by dynamic time warping.
#pragma once

#include <vector>

#include "attn/base/tensor.h"

namespace attn::transcribe {

/// Returns for each token the position at which it begins, given the probabilities (heads, tokens, positions) float32
/// with which tokens attend to positions. The positions increase. The steps are those of transformers. Probabilities
/// are standardized over the tokens, and smoothed by a median over seven positions. The path of the least cost through
/// their mean connects the first token with the first position, and the last with the last.
[[nodiscard]] std::vector<Dim> aligned(const Tensor& probabilities);

}  // namespace attn::transcribe
