#include "attn/generate/encoder_prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "attn/base/error.h"

namespace attn::generate {
namespace {

/// Returns one value for each prompt, from a list of the same size or of one value.
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
  if (!id) throw bad_input("the tokenizer has no start token for the decoder; give `ids`");
  return *id;
}

}  // namespace

EncoderPrompts pack_prompts(const EncoderWords& words, const std::optional<keras::TaskInfo>& task,
                            const tokenizers::Tokenizer* tokenizer, const tokenizers::EncodeOptions& how,
                            const EncoderLengths& lengths, const open::Listener& listener) {
  EncoderPrompts out;
  if (tokenizer == nullptr) {
    out.encoder = words.ids;
    for (const auto& row : out.encoder)
      if (row.empty()) throw bad_usage("`ids` is empty: the encoder needs at least one token");
    if (words.decoder_ids.empty())
      throw bad_usage("`ids` of an encoder-decoder model requires `decoder_ids`, the start of its output");
    out.decoder = for_each_prompt(words.decoder_ids, out.encoder.size(), "`decoder_ids`");
    return out;
  }
  const tokenizers::SpecialIds& ids = tokenizer->specials();
  if (!task || !task->packing) throw bad_input("only tasks define the packing of texts; give `ids`");
  const std::vector<std::string> begins =
      words.decoder_texts.empty() ? std::vector<std::string>{""} : words.decoder_texts;
  out.begun = for_each_prompt(begins, words.texts.size(), "`decoder_prompt`");
  for (std::size_t i = 0; i < words.texts.size(); ++i) {
    std::vector<Token> read = tokenizer->encode(words.texts[i], how);
    const bool starts = task->packing->encoder_start && ids.start, ends = task->packing->encoder_end && ids.end;
    const std::int64_t around = (starts ? 1 : 0) + (ends ? 1 : 0), given = std::ssize(read) + around;
    if (given > lengths.encoder)
      listener.warn(
          fmt::format("prompt {} has {} tokens: the encoder reads the first {}", i + 1, given, lengths.encoder));
    cut(read, lengths.encoder - around);
    if (starts) read.insert(read.begin(), *ids.start);
    if (ends) read.push_back(*ids.end);
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

}  // namespace attn::generate
