#include "tokenizer_json.h"

#include <memory>
#include <utility>

#include "algorithms/unigram.h"
#include "algorithms/word_piece.h"
#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::tokenizers {
namespace {

using nlohmann::json;

/// Reads a member of /model/vocab: a token with its id, or [token, score] for Unigram.
void take_token(TokenizerJson& file, std::string_view key, const json& value) {
  const std::string& place = file.vocabulary.place();
  if (value.is_array()) {
    if (value.size() != 2 || !value[0].is_string() || !value[1].is_number())
      throw bad_input("{}: /model/vocab/{}: expected a token and its score", place, file.scores.size());
    file.vocabulary.add(value[0].get_ref<const std::string&>(), static_cast<std::int64_t>(file.scores.size()));
    file.scores.push_back(value[1].get<double>());
    return;
  }
  file.vocabulary.add(key, id_in(value, key, place + ": /model/vocab"));
}

/// Reads a member of /model/merges: "a b", or ["a", "b"].
void take_merge(TokenizerJson& file, const json& value) {
  const std::string place = fmt::format("{}: /model/merges/{}", file.vocabulary.place(), file.merges.size());
  if (value.is_string()) {
    file.merges.add_line(value.get_ref<const std::string&>(), place);
  } else if (value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string()) {
    file.merges.add(value[0].get_ref<const std::string&>(), value[1].get_ref<const std::string&>());
  } else {
    throw bad_input("{}: expected two tokens", place);
  }
}

AddedToken added_token(const JsonNode& node) {
  AddedToken token;
  const std::int64_t id = node["id"].integer();
  if (id < 0 || id >= kMostIds) throw bad_input("{}: ids from 0 to {} are read", node["id"].place(), kMostIds - 1);
  token.id = static_cast<Id>(id);
  token.content = node["content"].text();
  if (token.content.size() > kLongestToken)
    throw bad_input("{}: an added token of over {} bytes is not accepted", node["content"].place(), kLongestToken);
  token.special = node["special"].flag(false);
  token.normalized = node["normalized"].flag(!token.special);
  token.single_word = node["single_word"].flag(false);
  token.lstrip = node["lstrip"].flag(false);
  token.rstrip = node["rstrip"].flag(false);
  return token;
}

/// Requires the default of a setting, because other values are unsupported.
void expect_empty(const JsonNode& node) {
  if (!node.is_null() && !node.text().empty()) throw bad_input("{}: not supported by attn", node.place());
}

std::unique_ptr<Model> model_of(TokenizerJson& file, const JsonNode& node) {
  const std::string type = node["type"].text(file.scores.empty() ? "BPE" : "Unigram");
  if ((type == "Unigram") != !file.scores.empty() && file.vocabulary.size() > 0)
    throw bad_input("{}: the vocabulary of a model of type '{}' has another form", node["vocab"].place(),
                    printable(type));
  if (type == "BPE") {
    BytePairs::Options options;
    if (!node["unk_token"].is_null()) options.unk_token = node["unk_token"].text();
    options.fuse_unk = node["fuse_unk"].flag(false);
    options.byte_fallback = node["byte_fallback"].flag(false);
    options.ignore_merges = node["ignore_merges"].flag(false);
    expect_empty(node["continuing_subword_prefix"]);
    options.word_end = node["end_of_word_suffix"].text("");
    if (options.word_end.size() > kLongestToken)
      throw bad_input("{}: over {} bytes are not accepted", node["end_of_word_suffix"].place(), kLongestToken);
    return std::make_unique<BytePairs>(std::move(file.vocabulary), file.merges, options);
  }
  if (type == "WordPiece") {
    WordPiece::Options options;
    options.unk_token = node["unk_token"].text(options.unk_token);
    options.prefix = node["continuing_subword_prefix"].text(options.prefix);
    options.longest_word = node["max_input_chars_per_word"].integer(options.longest_word);
    return std::make_unique<WordPiece>(std::move(file.vocabulary), options);
  }
  if (type == "Unigram") {
    std::optional<Id> unknown;
    if (!node["unk_id"].is_null()) {
      const std::int64_t id = node["unk_id"].integer();
      if (id < 0 || id >= file.vocabulary.end())
        throw bad_input("{}: {} is not an id of the vocabulary", node["unk_id"].place(), id);
      unknown = static_cast<Id>(id);
    }
    return std::make_unique<Unigram>(std::move(file.vocabulary), std::move(file.scores), unknown,
                                     node["byte_fallback"].flag(false));
  }
  throw bad_input("{}: the model '{}' is not supported; expected BPE, WordPiece or Unigram", node["type"].place(),
                  shortened(type));
}

}  // namespace

std::int64_t id_in(const json& value, std::string_view token, const std::string& place) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX))
    throw bad_input("{}: the id of '{}' is not an integer", place, shortened(token));
  return value.get<std::int64_t>();
}

TokenizerJson read_tokenizer_json(std::string_view text, const std::string& place) {
  TokenizerJson file{Vocabulary(place), {}, {}, {}, {}};
  const std::vector<io::JsonTable> tables = {
      {"/model/vocab", [&](std::string_view key, const json& value) { take_token(file, key, value); }},
      {"/model/merges", [&](std::string_view, const json& value) { take_merge(file, value); }}};
  file.rest = io::parse_json(text, place, kTokenizerJsonLimits, tables);
  const JsonNode root(file.rest, place);
  if (!root["model"].is_object()) throw bad_input("{}: not a tokenizer.json of Hugging Face: it has no /model", place);
  for (const JsonNode& node : root["added_tokens"].items()) file.added.push_back(added_token(node));
  return file;
}

PipelineParts parts_of(TokenizerJson file) {
  const JsonNode root(file.rest, file.vocabulary.place());
  PipelineParts parts;
  parts.class_name = root["model"]["type"].text(file.scores.empty() ? "BPE" : "Unigram");
  add_normalizers(root["normalizer"], parts.normalizers);
  add_pre_tokenizers(root["pre_tokenizer"], parts.pre_tokenizers);
  add_specials(root["post_processor"], parts.before, parts.after);
  add_decoders(root["decoder"], parts.decoders);
  parts.joins_with_spaces = root["decoder"].is_null();
  parts.added = std::move(file.added);
  parts.model = model_of(file, root["model"]);
  return parts;
}

}  // namespace attn::tokenizers
