#include "attn/library/probe_prompts.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/parse_number.h"
#include "attn/base/text.h"
#include "attn/generate/encoder_prompts.h"
#include "attn/open/tokenizer.h"
#include "attn/tokenizers/open.h"

namespace attn::library {

using probe::Id;
using probe::Prompt;

namespace {

/// The pieces of a word that a message lists.
constexpr std::size_t kMostPieces = 8;

}  // namespace

ProbePrompts::ProbePrompts(const std::optional<std::string>& path, const open::LoadedModel& loaded, bool start,
                           bool special, const open::Listener& listener)
    : loaded_(loaded), listener_(listener), start_(start), special_(special) {
  const std::vector<std::string> names = loaded.model.array_names();
  has_encoder_ = std::ranges::find(names, "encoder_token_ids") != names.end();
  if (!path) return;
  try {
    tokenizer_ = open::open_tokenizer_of(*path, loaded);
  } catch (const Error& error) {  // ids need no tokenizer
    refusal_ = error;
  }
}

Prompt ProbePrompts::from_ids(std::vector<Id> ids, std::vector<Id> encoder) const {
  if (ids.empty() || (has_encoder_ && encoder.empty())) throw bad_usage("a prompt needs at least one token");
  const auto positions = loaded_.model.most_positions();
  for (const auto* side : {&ids, &encoder})
    if (positions && std::ssize(*side) > *positions)
      throw bad_usage("a prompt has {} tokens, but the model has {} positions: give a shorter prompt", side->size(),
                      *positions);
  return {std::move(ids), std::move(encoder), {}};
}

Prompt ProbePrompts::from_text(const std::string& text, const std::string& decoder_text) const {
  if (tokenizer_ == nullptr) {
    if (refusal_) throw *refusal_;
    throw bad_input("{}: the model has no tokenizer; pass token ids with `ids` 1,2,3", loaded_.file);
  }
  tokenizers::EncodeOptions how;
  how.specials_in_text = special_;
  const auto task = loaded_.model.task();
  std::vector<Id> ids, encoder;
  if (has_encoder_) {
    generate::EncoderWords words;
    words.texts = {text};
    if (!decoder_text.empty()) words.decoder_texts = {decoder_text};
    const std::int64_t most = loaded_.model.most_positions().value_or(std::int64_t{1} << 30);
    const auto pair = generate::pack_prompts(words, task, tokenizer_.get(), how, {most, most}, listener_);
    encoder = pair.encoder.front();
    ids = pair.decoder.front();
  } else {
    ids = tokenizer_->encode(text, how);
    const tokenizers::SpecialIds& specials = tokenizer_->specials();
    const bool adds_start = !task || !task->preprocessor || task->preprocessor->add_start_token;
    if (start_ && adds_start && specials.start) ids.insert(ids.begin(), *specials.start);
    // An encoder reads a text between its start and its end token.
    if (start_ && task && !loaded_.model.decodes() && specials.end) ids.push_back(*specials.end);
  }
  Prompt out = from_ids(std::move(ids), std::move(encoder));
  out.text = text;
  return out;
}

Id ProbePrompts::token(const std::string& word) const {
  const bool is_id =
      word.starts_with('#') && word.size() > 1 && word.find_first_not_of("0123456789", 1) == std::string::npos;
  const auto id = parse_number<Id>(is_id ? word.substr(1) : tokenizer_ == nullptr ? word : "");
  if (id && *id >= 0) return *id;
  if (word.empty()) throw bad_usage("a token is empty: give a text that is one token, or #ID");
  if (word.starts_with('#') && (is_id || tokenizer_ == nullptr))
    throw bad_usage("{}: no token has this id", printable(word));
  if (tokenizer_ == nullptr) throw bad_usage("'{}': no tokenizer is open; give a token as #ID", printable(word));
  const std::vector<Id> ids = tokenizer_->encode(word);
  if (ids.size() == 1) return ids.front();
  std::vector<std::string> pieces;
  for (const Id piece : ids) pieces.push_back(fmt::format("{} (#{})", this->word(piece), piece));
  if (pieces.size() > kMostPieces) {
    pieces.resize(kMostPieces);
    pieces.emplace_back("…");
  }
  const std::vector<Id> spaced = tokenizer_->encode(" " + word);
  const std::string hint =
      spaced.size() == 1 ? fmt::format("; with a space in front it is the token #{}", spaced[0]) : "";
  throw bad_usage("'{}' is not one token but {}: {}{}", printable(word), ids.size(), printable(join(pieces, ", ")),
                  hint);
}

Id ProbePrompts::output(const std::string& word) const {
  if (loaded_.model.class_name().ends_with("Classifier") && !word.starts_with('#'))
    throw bad_usage("'{}': the logits of a {} are classes; give one as #0, #1, …", printable(word),
                    loaded_.model.class_name());
  return token(word);
}

std::optional<Id> ProbePrompts::baseline(const std::string& word) const {
  if (word == "zero") return std::nullopt;
  if (word != "pad") return token(word);
  const auto specials = tokenizer_ == nullptr ? tokenizers::SpecialIds{} : tokenizer_->specials();
  return specials.pad ? *specials.pad : specials.end.value_or(0);
}

std::string ProbePrompts::word(Id id) const {
  if (tokenizer_ != nullptr)
    if (const auto token = tokenizer_->token(id)) return *token;
  return fmt::format("#{}", id);
}

}  // namespace attn::library
