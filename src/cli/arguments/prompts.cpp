#include "arguments/prompts.h"

#include <algorithm>

#include "arguments/texts.h"
#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::cli {

void PromptWords::declare(Options& options) {
  options.add("--prompt", texts, "TEXT", "a text to go on with; without any it is stdin").repeatable();
  options.add("--prompts", file, "FILE", "texts: a JSON array, or one in each line of a .txt; - is stdin");
  options.add("--ids", ids, "IDS", "token ids to go on with in place of a text: 1,2,3; no start token is added")
      .repeatable();
  options
      .add("--decoder-prompt", decoder_texts, "TEXT", "of a model with an encoder: a text that its output begins with")
      .repeatable();
  options.add("--decoder-ids", decoder_ids, "IDS", "of a model with an encoder and --ids: what its output begins with")
      .repeatable();
}

std::vector<std::string> read_texts(const PromptWords& words) {
  std::vector<std::string> texts = words.texts;
  if (words.file) {
    const std::vector<std::string> more = read_texts_file(*words.file);
    texts.insert(texts.end(), more.begin(), more.end());
    if (texts.empty()) throw bad_input("{}: it holds no texts", printable(*words.file));
  }
  if (texts.empty()) {
    std::string text = read_stdin("prompt");
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

namespace {

using generate::Token;

/// One for each prompt, of as many or of one for all.
template <typename T>
std::vector<T> for_each_prompt(const std::vector<T>& given, std::size_t prompts, std::string_view option) {
  if (given.size() == 1) return std::vector<T>(prompts, given.front());
  if (given.size() != prompts)
    throw bad_usage("{} {} are given for {} prompts: give one for each, or one for all", given.size(), option, prompts);
  return given;
}

void cut(std::vector<Token>& ids, std::int64_t room) {
  if (std::ssize(ids) > std::max<std::int64_t>(room, 0))
    ids.resize(static_cast<std::size_t>(std::max<std::int64_t>(room, 0)));
}

Token special(const tokenizers::SpecialIds& ids, keras::SpecialToken token) {
  const std::optional<Token> id = token == keras::SpecialToken::start ? ids.start
                                  : token == keras::SpecialToken::end ? ids.end
                                                                      : ids.pad;
  if (!id) throw bad_input("the tokenizer has no token that the decoder's sequence begins with; give --ids");
  return *id;
}

}  // namespace

EncoderPrompts pack_prompts(const PromptWords& words, const std::vector<std::string>& texts,
                            const std::optional<keras::TaskInfo>& task, const tokenizers::Tokenizer* tokenizer,
                            const tokenizers::EncodeOptions& how, const EncoderLengths& lengths,
                            const Console& console) {
  EncoderPrompts out;
  if (tokenizer == nullptr) {
    out.encoder = read_ids(words);
    for (const auto& row : out.encoder)
      if (row.empty()) throw bad_usage("--ids without ids: the encoder has nothing to read");
    std::vector<std::vector<Token>> begins;
    for (const std::string& list : words.decoder_ids) begins.push_back(parse_ids("--decoder-ids", list));
    if (begins.empty()) throw bad_usage("--ids of a model with an encoder goes with --decoder-ids, its output's begin");
    out.decoder = for_each_prompt(begins, out.encoder.size(), "--decoder-ids");
    return out;
  }
  if (!words.decoder_ids.empty()) throw bad_usage("--decoder-ids goes with --ids; a text is --decoder-prompt");
  const tokenizers::SpecialIds& ids = tokenizer->specials();
  if (!task || !task->packing) throw bad_input("how texts are packed is known of tasks alone; give --ids");
  const std::vector<std::string> begins =
      words.decoder_texts.empty() ? std::vector<std::string>{""} : words.decoder_texts;
  out.begun = for_each_prompt(begins, texts.size(), "--decoder-prompt");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::vector<Token> read = tokenizer->encode(texts[i], how);
    const bool starts = task->packing->encoder_start && ids.start;
    const std::int64_t around = (starts ? 1 : 0) + (ids.end ? 1 : 0), given = std::ssize(read) + around;
    if (given > lengths.encoder)
      console.warn(
          fmt::format("prompt {} has {} tokens: the encoder reads the first {}", i + 1, given, lengths.encoder));
    cut(read, lengths.encoder - around);
    if (starts) read.insert(read.begin(), *ids.start);
    if (ids.end) read.push_back(*ids.end);
    out.encoder.push_back(std::move(read));
    std::vector<Token> begun;
    for (const keras::SpecialToken token : task->packing->decoder_start) begun.push_back(special(ids, token));
    const std::vector<Token> more = tokenizer->encode(out.begun[i], how);
    begun.insert(begun.end(), more.begin(), more.end());
    cut(begun, lengths.decoder);
    out.decoder.push_back(std::move(begun));
  }
  return out;
}

}  // namespace attn::cli
