// The ranks of targets and predictions.
#pragma once

#include "training/loss.h"

namespace attn::keras {

/// A last axis of 1 is put on or taken off where one side has it, as squeeze_or_expand_to_same_rank does. Predictions
/// that change so are no longer what a softmax gave.
void match_ranks(LossCall& call);

}  // namespace attn::keras
