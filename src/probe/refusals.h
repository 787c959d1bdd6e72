// Errors that several operations share. Private to the module.
#pragma once

#include "attn/probe/subject.h"

namespace attn::probe {

/// Throws Error (bad_input) if the model ends in hidden states.
void require_logits(const Subject& subject, const Lowered& lowered);

/// Throws Error (usage) if the tokens are outside the logits.
void require_token(const Lowered& lowered, Id token);

}  // namespace attn::probe
