// Attention rollout, and scores of heads, from the attention probabilities of a pass.
#pragma once

#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/probe/subject.h"

namespace attn::probe {

/// The function that joins the heads of a layer.
enum class Fuse { mean, max, min };

struct Rollout {
  std::vector<int> layers;
  /// A matrix (T,T) for each layer: row t has the weights of the input positions in position t of the layer's output.
  std::vector<std::vector<std::vector<double>>> matrices;
};

/// Multiplies the attention of all layers, each with the identity added and rows divided by their sums (Abnar and
/// Zuidema 2020). Ignores values, MLPs and norms. An encoder-decoder is followed through its encoder.
[[nodiscard]] Rollout rollout(const Subject& subject, const Prompt& prompt, Fuse fuse);

/// A score, and the share of that attention in all attention (the score of TransformerLens's head detector).
struct Share {
  double mean = 0;   ///< over the queries that have such a key
  double share = 0;  ///< over all queries
};

struct HeadScores {
  int layer = 0, head = 0;
  Share previous;              ///< attention to the position before
  Share duplicate;             ///< attention to an earlier copy of the token
  Share induction;             ///< attention to the position after an earlier copy of the token
  double first = 0;            ///< mean attention to key 0, over the queries after it
  std::vector<double> to_key;  ///< mean attention to each key, over the queries 1…T−1
};

/// Scores every head of the last stack on a prompt, which should repeat itself.
[[nodiscard]] std::vector<HeadScores> head_scores(const Subject& subject, const Prompt& prompt);

/// Returns `length` random ids without repetition, twice.
[[nodiscard]] Prompt repeated_prompt(const Subject& subject, std::int64_t length, std::uint64_t seed);

}  // namespace attn::probe
