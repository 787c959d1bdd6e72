// Converts the logits of one position to probabilities, and finds the largest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attn::generate {

using Token = std::int32_t;

/// softmax(logits / temperature) in float32 (keras_hub/src/samplers/sampler.py). Each quotient is rounded once; the sum
/// is accumulated in double. All NaN if a logit is NaN or +∞.
[[nodiscard]] std::vector<float> probabilities(std::span<const float> logits, double temperature);

/// log of softmax(logits) for one token.
[[nodiscard]] double log_probability(std::span<const float> logits, Token token);

/// Returns the index of the largest value; the lowest index of equal ones, and the first NaN if there is one.
[[nodiscard]] std::int64_t argmax(std::span<const float> x);

/// argmax(probabilities(logits, temperature)), usually found without computing probabilities.
[[nodiscard]] std::int64_t most_probable(std::span<const float> logits, double temperature);

/// Returns the indices of the k largest values (or of all, if there are fewer) in descending order; equal values by
/// index.
[[nodiscard]] std::vector<std::int64_t> top_sorted(std::span<const float> x, std::int64_t k);

/// Returns the indices of the k largest values, in the order that tf.math.top_k(sorted=False) returns on a CPU.
/// TensorFlow (core/lib/gtl/top_n.h) collects k + 1 values, makes a heap and drops the smallest. Each later value that
/// beats the smallest replaces it. The order decides which index a random number selects.
[[nodiscard]] std::vector<std::int64_t> top_unsorted(std::span<const float> x, std::int64_t k);

}  // namespace attn::generate
