// The logit lens: what a model would predict if it ended after each block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/probe/sweep.h"

namespace attn::probe {

struct LensOptions {
  bool mid = false;          ///< also after the attention of each block
  bool norm = true;          ///< apply the final norm, with the statistics of the point
  std::int64_t top = 5;      ///< number of tokens for each cell
  std::optional<Id> target;  ///< a token whose probability and rank are wanted; default: the next token of the prompt
};

struct TokenProbability {
  Id token = 0;
  double log_prob = 0;
};

/// A token's place in a distribution. The rank is the number of tokens with a larger logit.
struct TargetPlace {
  Id token = 0;
  double log_prob = 0;
  std::int64_t rank = 0;
};

struct LensCell {
  std::vector<TokenProbability> top;  ///< most probable first
  double entropy = 0;                 ///< in nats
  double kl_to_final = 0;             ///< KL(last point ‖ this point), in nats
  std::optional<TargetPlace> target;
};

struct Lens {
  std::vector<std::string> points;
  std::vector<std::vector<LensCell>> cells;  ///< by point and position
};

/// Runs the part of the graph behind the last block on the stream at each point. A classifier has one position.
[[nodiscard]] Lens lens(const Subject& subject, const Prompt& prompt, const LensOptions& options);

}  // namespace attn::probe
