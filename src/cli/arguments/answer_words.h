// Options for drafts and for generated text.
#pragma once

#include "attn/generate/answer_text.h"
#include "attn/generate/drafting.h"
#include "options/options.h"

namespace attn::cli {

/// Adds --draft and --draft-tokens.
void add_draft(Options& options, generate::DraftOptions& draft);

/// Adds --stop, --strip-prompt and --keep-special.
void add_answer(Options& options, generate::AnswerOptions& answer);

}  // namespace attn::cli
