// Errors that several operations share. Private to the module.
#pragma once

#include "attn/probe/measure.h"
#include "attn/probe/subject.h"

namespace attn::probe {

/// Throws Error (bad_input) unless all points have the shape and dtype of `site`, if there is one, and so can replace
/// it.
void require_alike(const Subject& subject, const Lowered& lowered, graph::ValueId site, std::span<const Point> points);

/// Throws Error (bad_input) if the model ends in hidden states, or if its logits are neither one row for each token nor
/// classes of the text.
void require_logits(const Subject& subject, const Lowered& lowered);

/// Throws Error (bad_input), naming the layer, if weights are quantized, because such weights have no gradients.
void require_gradients(const Subject& subject, const Lowered& lowered);

/// Throws Error (usage) if a token is outside the logits.
void require_token(const Lowered& lowered, Id token);
void require_tokens(const Lowered& lowered, const Metric& metric);

}  // namespace attn::probe
