// Errors that several operations share. Private to the module.
#pragma once

#include "attn/probe/measure.h"
#include "attn/probe/subject.h"

namespace attn::probe {

/// Throws Error (bad_input) if the model ends in hidden states.
void require_logits(const Subject& subject, const Lowered& lowered);

/// Throws Error (bad_input), naming the layer, if weights are quantized, because such weights have no gradients.
void require_gradients(const Subject& subject, const Lowered& lowered);

/// Throws Error (usage) if a token is outside the logits.
void require_token(const Lowered& lowered, Id token);
void require_tokens(const Lowered& lowered, const Metric& metric);

}  // namespace attn::probe
