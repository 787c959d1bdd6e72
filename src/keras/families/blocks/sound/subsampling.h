// The sizes of the two convolutions that subsample spectrograms in the audio encoders of Gemma 3n and Gemma 4.
#pragma once

#include <cstdint>
#include <vector>

#include "config/fields.h"

namespace attn::keras {

/// Sizes along the time and along the frequencies, for each convolution.
using SizePairs = std::vector<std::vector<Positive>>;

/// Throws Error (bad_input) unless there are two pairs, of sizes below the limit.
void check_pairs(const Ref& config, const char* key, const SizePairs& sizes);
/// Returns the pairs as JSON.
[[nodiscard]] Json json_of(const SizePairs& sizes);
/// Throws Error (bad_input) for a number of channels or features above the limit.
void check_features(const Ref& config, const char* key, std::int64_t count);
/// Returns the size of a convolution's result without padding.
[[nodiscard]] std::int64_t strided_size(std::int64_t size, std::int64_t kernel, std::int64_t stride);

}  // namespace attn::keras
