// From the logits of one position to probabilities, and what samplers read off them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attn::generate {

using Token = std::int32_t;

/// softmax(logits / temperature) in float32 (keras_hub/src/samplers/sampler.py). Each logit is rounded once where it is
/// divided; the sum is held in double. All NaN where one logit is NaN or +∞.
[[nodiscard]] std::vector<float> probabilities(std::span<const float> logits, double temperature);

/// log of softmax(logits), for scores.
[[nodiscard]] double log_probability(std::span<const float> logits, Token token);

/// The index of the greatest; the lowest of equals, and the first NaN where there is one.
[[nodiscard]] std::int64_t argmax(std::span<const float> x);

/// argmax(probabilities(logits, temperature)), for which as a rule no probability is needed.
[[nodiscard]] std::int64_t likeliest(std::span<const float> logits, double temperature);

/// The indices of the k greatest, or of all where there are fewer, the greatest first and the lowest of equals first.
[[nodiscard]] std::vector<std::int64_t> top_sorted(std::span<const float> x, std::int64_t k);

/// The same k in the order in which tf.math.top_k(sorted=False) leaves them on a CPU. tensorflow/core/lib/gtl/top_n.h
/// collects k + 1 of them, makes a heap and drops the least; each later one that beats the least takes its place. The
/// order decides which of them a random number picks.
[[nodiscard]] std::vector<std::int64_t> top_unsorted(std::span<const float> x, std::int64_t k);

}  // namespace attn::generate
