// Ablation: what changes without a head, an attention or an MLP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/probe/measure.h"
#include "attn/probe/sweep.h"

namespace attn::probe {

/// The value in place of a part.
enum class Ablation {
  zero,
  mean,              ///< mean over the positions of the prompt, or over sequences and positions of the reference
  mean_by_position,  ///< mean over the sequences of the reference, at each position
  resample           ///< the value of the reference, a single sequence of the same length
};

struct AblateOptions {
  bool heads = true, attention = false, mlp = true;
  Ablation with = Ablation::zero;
  std::vector<Prompt> reference;
  std::optional<Metric> metric;  ///< default: the logit of the best token at the last position
};

struct AblatedPart {
  std::string point;  ///< "z.0", "attn_out.0", "mlp_out.0"
  int layer = 0;
  std::optional<int> head;
  Measured change;  ///< the difference from the pass without ablation; kl is KL(without ‖ with)
};

struct Ablated {
  Metric metric;
  Measured baseline;
  std::vector<AblatedPart> parts;
};

[[nodiscard]] Ablated ablate(const Subject& subject, const Prompt& prompt, const AblateOptions& options);

}  // namespace attn::probe
