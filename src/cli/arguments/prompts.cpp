#include "arguments/prompts.h"

#include <utility>

#include "arguments/texts.h"
#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::cli {

void PromptWords::declare(Options& options) {
  const OptionGroupGuard group(options, OptionGroup::input);
  options.add("--prompt", texts, "TEXT", "text to continue; repeatable (default stdin)").repeatable();
  options.add("--prompts", file, "FILE", "file of prompts: a JSON array, or a .txt with one per line; - is stdin");
  options.add("--ids", ids, "IDS", "token ids to continue instead of text: 1,2,3; no start token is added; repeatable")
      .repeatable();
  options
      .add("--decoder-prompt", decoder_texts, "TEXT",
           "text that starts the output of an encoder-decoder model; repeatable")
      .repeatable();
  options
      .add("--decoder-ids", decoder_ids, "IDS",
           "with --ids: token ids that start the output of an encoder-decoder model; repeatable")
      .repeatable();
}

std::vector<std::string> read_texts(const PromptWords& words) {
  std::vector<std::string> texts = words.texts;
  if (words.file) {
    const std::vector<std::string> more = read_texts_file(*words.file);
    texts.insert(texts.end(), more.begin(), more.end());
    if (texts.empty()) throw bad_input("{}: the file contains no texts", printable(*words.file));
  }
  if (texts.empty()) {
    std::string text = read_stdin("prompt");
    if (text.empty()) throw bad_usage("there is no prompt: stdin is empty; give --prompt TEXT");
    if (text.ends_with('\n')) text.pop_back();
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::vector<generate::Token>> read_ids(const PromptWords& words) {
  std::vector<std::vector<generate::Token>> out;
  for (const std::string& list : words.ids) out.push_back(parse_ids("--ids", list));
  return out;
}

generate::EncoderWords encoder_words(const PromptWords& words, std::vector<std::string> texts, bool has_tokenizer) {
  generate::EncoderWords out;
  if (has_tokenizer) {
    if (!words.decoder_ids.empty()) throw bad_usage("--decoder-ids requires --ids; use --decoder-prompt for text");
    out.texts = std::move(texts);
    out.decoder_texts = words.decoder_texts;
    return out;
  }
  out.ids = read_ids(words);
  for (const std::string& list : words.decoder_ids) out.decoder_ids.push_back(parse_ids("--decoder-ids", list));
  return out;
}

}  // namespace attn::cli
