#include "arguments/answer_words.h"

namespace attn::cli {

void add_draft(Options& options, generate::DraftOptions& draft) {
  const OptionGroupGuard group(options, OptionGroup::execution);
  options.add("--draft", draft.draft, "DRAFT",
              "draft of speculative decoding: prompt-lookup, prompt-lookup:N or a small MODEL");
  options.add("--draft-tokens", draft.tokens, "N", "number of tokens drafted at a time (default 4)").above_zero();
}

void add_answer(Options& options, generate::AnswerOptions& answer) {
  const OptionGroupGuard group(options, OptionGroup::result);
  options.add("--stop", answer.stops, "TEXT", "stop sequence, which the output does not include; repeatable")
      .repeatable();
  options.flag("--strip-prompt", answer.strip_prompt, "omit the prompt from the output");
  options.flag("--keep-special", answer.keep_special, "keep special tokens in the output");
}

}  // namespace attn::cli
