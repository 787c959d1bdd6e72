#include "arguments/probe_prompts.h"

#include <algorithm>
#include <charconv>

#include "arguments/texts.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/generate/encoder_prompts.h"
#include "attn/generate/open_decoder.h"
#include "attn/keras/families.h"
#include "attn/open/tokenizer.h"
#include "attn/tokenizers/open.h"

namespace attn::cli {

using probe::Id;
using probe::Prompt;

ProbePrompts::ProbePrompts(const std::string& model, const open::LoadedModel& loaded, bool start, bool special,
                           const open::Listener& listener)
    : loaded_(loaded), listener_(listener), start_(start), special_(special) {
  const auto task = loaded.model.task();
  has_encoder_ = task && task->packing;
  try {
    tokenizer_ = open::open_tokenizer_of(model, loaded);
  } catch (const Error&) {  // ids need no tokenizer
  }
}

Prompt ProbePrompts::checked(Prompt prompt) const {
  if (prompt.ids.empty() || (has_encoder_ && prompt.encoder.empty()))
    throw bad_usage("a prompt needs at least one token");
  const auto positions = loaded_.model.most_positions();
  for (const auto* ids : {&prompt.ids, &prompt.encoder})
    if (positions && std::ssize(*ids) > *positions)
      throw bad_usage("a prompt has {} tokens, but the model has {} positions: give a shorter prompt", ids->size(),
                      *positions);
  return prompt;
}

Prompt ProbePrompts::packed(const std::string& text, const std::string& decoder_text) const {
  if (tokenizer_ == nullptr)
    throw bad_input("{}: the model has no tokenizer; pass token ids with --ids 1,2,3", loaded_.file);
  tokenizers::EncodeOptions how;
  how.specials_in_text = special_;
  const auto task = loaded_.model.task();
  Prompt out;
  out.text = text;
  if (has_encoder_) {
    generate::EncoderWords words;
    words.texts = {text};
    if (!decoder_text.empty()) words.decoder_texts = {decoder_text};
    const std::int64_t most = loaded_.model.most_positions().value_or(std::int64_t{1} << 30);
    const auto pair = generate::pack_prompts(words, task, tokenizer_.get(), how, {most, most}, listener_);
    out.encoder = pair.encoder.front();
    out.ids = pair.decoder.front();
    return checked(std::move(out));
  }
  out.ids = tokenizer_->encode(text, how);
  const tokenizers::SpecialIds& specials = tokenizer_->specials();
  const bool adds_start = !task || !task->preprocessor || task->preprocessor->add_start_token;
  if (start_ && adds_start && specials.start) out.ids.insert(out.ids.begin(), *specials.start);
  // An encoder reads a text between its start and its end token.
  if (start_ && task && !loaded_.model.decodes() && specials.end) out.ids.push_back(*specials.end);
  return checked(std::move(out));
}

std::vector<Prompt> ProbePrompts::read(const PromptWords& words) const {
  std::vector<Prompt> out;
  if (!words.ids.empty()) {
    if (has_encoder_ && words.decoder_ids.empty())
      throw bad_usage("--ids of an encoder-decoder model requires --decoder-ids, the start of its output");
    for (std::size_t i = 0; i < words.ids.size(); ++i) {
      Prompt prompt;
      std::vector<Id> ids = parse_ids("--ids", words.ids[i]);
      if (has_encoder_) {
        prompt.encoder = std::move(ids);
        prompt.ids = parse_ids("--decoder-ids", words.decoder_ids[std::min(i, words.decoder_ids.size() - 1)]);
      } else {
        prompt.ids = std::move(ids);
      }
      out.push_back(checked(std::move(prompt)));
    }
    return out;
  }
  const std::vector<std::string> texts = read_texts(words);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t count = words.decoder_texts.size();
    out.push_back(packed(texts[i], count == 0 ? "" : words.decoder_texts[std::min(i, count - 1)]));
  }
  return out;
}

Prompt ProbePrompts::read_text(const std::string& text) const {
  if (!text.starts_with('#')) return packed(text, "");
  Prompt out;
  std::vector<Id> ids = parse_ids("#", text.substr(1));
  if (has_encoder_) {
    throw bad_usage("'{}': an encoder-decoder model takes ids only with --ids and --decoder-ids", printable(text));
  }
  out.ids = std::move(ids);
  return checked(std::move(out));
}

std::vector<Prompt> ProbePrompts::read_file(const std::string& path) const {
  std::vector<Prompt> out;
  for (const std::string& text : read_texts_file(path)) out.push_back(read_text(text));
  if (out.empty()) throw bad_input("{}: the file contains no texts", printable(path));
  return out;
}

Id ProbePrompts::token(const std::string& word) const {
  Id id = 0;
  const std::string digits = word.starts_with('#') ? word.substr(1) : tokenizer_ == nullptr ? word : "";
  const char* end = digits.data() + digits.size();
  if (!digits.empty()) {
    const auto [stop, error] = std::from_chars(digits.data(), end, id);
    if (error == std::errc() && stop == end && id >= 0) return id;
  }
  if (tokenizer_ == nullptr) throw bad_usage("'{}': the model has no tokenizer; give a token as #ID", printable(word));
  const std::vector<Id> ids = tokenizer_->encode(word);
  if (ids.size() == 1) return ids.front();
  std::vector<std::string> pieces;
  for (const Id piece : ids) pieces.push_back(fmt::format("{} (#{})", this->word(piece), piece));
  const std::vector<Id> spaced = tokenizer_->encode(" " + word);
  const std::string hint =
      spaced.size() == 1 ? fmt::format("; with a space in front it is the token #{}", spaced[0]) : "";
  throw bad_usage("'{}' is not one token but {}: {}{}", printable(word), ids.size(), printable(join(pieces, ", ")),
                  hint);
}

std::string ProbePrompts::word(Id id) const {
  if (tokenizer_ != nullptr)
    if (const auto token = tokenizer_->token(id)) return *token;
  return fmt::format("#{}", id);
}

}  // namespace attn::cli
