// Errors that several operations share. Private to the module.
#pragma once

#include "attn/probe/subject.h"

namespace attn::probe {

/// Throws Error (bad_input) unless all points have the shape and dtype of `site`, if there is one, and so can replace
/// it.
void require_alike(const Subject& subject, const Lowered& lowered, graph::ValueId site, std::span<const Point> points);

/// Throws Error (bad_input) if the model ends in hidden states, or if its logits are neither one row for each token nor
/// classes of the text.
void require_logits(const Subject& subject, const Lowered& lowered);

/// Throws Error (usage) if the tokens are outside the logits.
void require_token(const Lowered& lowered, Id token);

}  // namespace attn::probe
