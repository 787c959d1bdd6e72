// Attention with sinks: the softmax of each head also has the probability of a learned score that no key has, so the
// probabilities of the keys add up to less than 1.
//
// Letters: see head_attention.h.
#pragma once

#include "classes/call.h"
#include "classes/layers/attention/attention_options.h"

namespace attn::keras {

/// Causal attention like that of attend(), with the scores `sinks` (N). `how` has no bias and no soft cap.
[[nodiscard]] Attended attend_with_sinks(Call& call, graph::ValueId query, graph::ValueId key, graph::ValueId value,
                                         graph::ValueId sinks, AttentionOptions how);

}  // namespace attn::keras
