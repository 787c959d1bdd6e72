// Matches the ranks of targets and predictions.
#pragma once

#include "training/loss.h"

namespace attn::keras {

/// Adds or removes a last axis of size 1 if only one side has it, like squeeze_or_expand_to_same_rank. If the
/// predictions change, they no longer count as the direct result of a softmax.
void match_ranks(LossCall& call);

}  // namespace attn::keras
