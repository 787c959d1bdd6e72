#include "arguments/answer_words.h"

namespace attn::cli {

void add_draft(Options& options, generate::DraftOptions& draft) {
  options.add("--draft", draft.draft, "DRAFT",
              "guess tokens that are checked together: prompt-lookup, prompt-lookup:N, or a small MODEL");
  options.add("--draft-tokens", draft.tokens, "N", "tokens that --draft guesses at a time (4)").above_zero();
}

void add_answer(Options& options, generate::AnswerOptions& answer) {
  options.add("--stop", answer.stops, "TEXT", "ends a text where this text would begin").repeatable();
  options.flag("--strip-prompt", answer.strip_prompt, "texts without their prompts");
  options.flag("--keep-special", answer.keep_special, "texts with their special tokens");
}

}  // namespace attn::cli
