#include "attn/tokenizers/forms.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/json_text.h"
#include "attn/tokenizers/open.h"
#include "files/hugging_face_folder.h"
#include "files/keras_object.h"
#include "files/keras_tokenizers.h"
#include "files/model_files.h"
#include "files/tokenizer_json.h"
#include "pre_tokenizers.h"

namespace attn::tokenizers {
namespace {

using nlohmann::json;
using Kind = TokenizerKind;

io::Bytes bytes_of(const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return io::Bytes::copy_of(std::as_bytes(std::span(text)));
}

const KerasClass& class_named(const TokenizerTables& tables, const std::string& name, const std::string& place) {
  const KerasClass* const row = find_keras_class(tables, name);
  if (row == nullptr) throw bad_input("{}: the tokenizer '{}' is not known", place, shortened(name));
  return *row;
}

KerasForm form_of_object(const ModelFiles& files, const KerasObject& object, const TokenizerTables& tables) {
  const JsonNode node = object.node();
  KerasForm out{node["class_name"].text(), node["config"].json().dump(), {}};
  for (const std::string& name : asset_names(class_named(tables, out.class_name, node["class_name"].place()).kind))
    out.assets.push_back({name, files.read(object.folder + "/" + name, kMaxTokenizerFile)});
  return out;
}

/// Extracts vocabulary and merges from a tokenizer.json, including added tokens (convert_llama3.py, convert_qwen.py).
KerasForm form_of_tokenizer_json(const ModelFiles& files, const KerasClass& row, json config) {
  const std::string place = files.place(kTokenizerJson);
  const json whole = io::parse_json(files.read(kTokenizerJson, kMaxTokenizerFile).text(), place, kTokenizerJsonLimits);
  const JsonNode node(whole, place), model = node["model"];
  if (!model["vocab"].is_object() || !model["merges"].is_array())
    throw bad_input("{}: not a byte-pair tokenizer, but {} is one", model.place(), row.name);
  json vocabulary = whole["model"]["vocab"], special = json::array();
  for (const JsonNode& token : node["added_tokens"].items()) {
    const std::string content = token["content"].text();
    if (content.starts_with("<|reserved_special_token_")) continue;
    vocabulary[content] = token["id"].integer();
    special.push_back(content);
  }
  std::string merges = "#version: 0.2\n";
  for (const json& merge : whole["model"]["merges"]) {
    const bool pair = merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
    if (!pair && !merge.is_string()) throw bad_input("{}: /model/merges: expected pairs of texts", place);
    merges += pair ? merge[0].get<std::string>() + " " + merge[1].get<std::string>() : merge.get<std::string>();
    merges += '\n';
  }
  config["unsplittable_tokens"] = std::move(special);
  KerasForm out{std::string(row.name), config.dump(), {}};
  out.assets.push_back({"vocabulary.json", bytes_of(vocabulary)});
  out.assets.push_back({"merges.txt", io::Bytes::copy_of(std::as_bytes(std::span(merges)))});
  return out;
}

/// Returns a config with the keys in the order of get_config().
json empty_config(const KerasClass& row) {
  json config = {{"name", snake_case(row.name)}, {"trainable", true}, {"config_file", kTokenizerJson}};
  if (row.kind == Kind::byte_pairs) config.update({{"sequence_length", nullptr}, {"add_prefix_space", false}});
  if (row.kind == Kind::sentence_piece) config.update({{"proto", nullptr}, {"sequence_length", nullptr}});
  if (row.kind == Kind::word_piece) config.update({{"vocabulary", nullptr}, {"sequence_length", nullptr}});
  return config;
}

/// Extracts the words of a tokenizer.json, for a folder without vocab.txt.
KerasForm form_of_word_pieces(const ModelFiles& files, const KerasClass& row, json config) {
  const std::string place = files.place(kTokenizerJson);
  const json whole = io::parse_json(files.read(kTokenizerJson, kMaxTokenizerFile).text(), place, kTokenizerJsonLimits);
  const JsonNode node(whole, place), model = node["model"];
  if (model["type"].text("") != "WordPiece" || !model["vocab"].is_object())
    throw bad_input("{}: not a WordPiece tokenizer, but {} is one", model.place(), row.name);
  const json& vocabulary = whole["model"]["vocab"];
  std::vector<std::string> words(vocabulary.size());
  for (const auto& [word, id] : vocabulary.items()) {
    const bool is_next = id.is_number_integer() && id.get<std::int64_t>() >= 0 &&
                         id.get<std::int64_t>() < std::ssize(words) && words[id.get<std::size_t>()].empty();
    if (!is_next || word.empty() || word.find_first_of("\r\n") != std::string::npos)
      throw bad_input("{}: /model/vocab: the words cannot be the lines of a vocabulary.txt in the order of their ids",
                      place);
    words[id.get<std::size_t>()] = word;
  }
  config["lowercase"] = node["normalizer"]["lowercase"].flag(true);
  KerasForm out{std::string(row.name), config.dump(), {}};
  const std::string lines = join(words, "\n") + "\n";
  out.assets.push_back({asset_names(row.kind)[0], io::Bytes::copy_of(std::as_bytes(std::span(lines)))});
  return out;
}

KerasForm form_of_folder(const ModelFiles& files, const TokenizerTables& tables) {
  const KerasSource source = keras_source(files, tables);
  json config = empty_config(*source.row);
  if (source.vocabulary.empty()) return form_of_tokenizer_json(files, *source.row, std::move(config));
  if (source.row->kind == Kind::word_piece && !files.has(source.vocabulary) && files.has(kTokenizerJson))
    return form_of_word_pieces(files, *source.row, std::move(config));
  if (source.row->kind == Kind::word_piece) config["lowercase"] = source.lowercase;
  // If the list is null, KerasHub uses the special tokens of the class.
  if (source.row->kind == Kind::byte_pairs) config["unsplittable_tokens"] = nullptr;
  KerasForm out{std::string(source.row->name), config.dump(), {}};
  const std::vector<std::string> names = asset_names(source.row->kind);
  out.assets.push_back({names[0], files.read(source.vocabulary, kMaxTokenizerFile)});
  if (names.size() > 1) out.assets.push_back({names[1], files.read("merges.txt", kMaxTokenizerFile)});
  return out;
}

/// Special tokens, with their names in tokenizer_config.json.
json named_tokens(const KerasClass& row) {
  json names = json::object();
  const auto name = [&](const char* key, std::string_view token) {
    if (!token.empty()) names[key] = token;
  };
  if (row.kind == Kind::word_piece) {
    name("cls_token", row.start);
    name("sep_token", row.end);
    names["unk_token"] = "[UNK]";
    names["mask_token"] = "[MASK]";
  } else {
    name("bos_token", row.start);
    name("eos_token", row.end);
  }
  name("pad_token", row.pad);
  return names;
}

json added_token(const std::string& content, Id id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

/// Returns a tokenizer.json for a byte-pair class: words are split as in transformers for such models.
json byte_pair_file(const KerasClass& row, const KerasForm& form, const Tokenizer& tokenizer) {
  json vocabulary = io::parse_json(form.assets[0].bytes.text(), form.assets[0].name, kTokenizerJsonLimits);
  std::vector<std::string> contents;
  const json config = json::parse(form.config);
  const bool prefix = JsonNode(config, form.class_name)["add_prefix_space"].flag(false);
  if (config.contains("unsplittable_tokens") && config["unsplittable_tokens"].is_array())
    for (const json& token : config["unsplittable_tokens"])
      if (token.is_string()) contents.push_back(token.get<std::string>());
  for (const Id id : tokenizer.specials().all)
    if (const auto token = tokenizer.token(id)) contents.push_back(*token);
  std::vector<std::pair<Id, std::string>> tokens;
  for (const std::string& content : contents)
    if (const auto id = tokenizer.id(content)) tokens.emplace_back(*id, content);
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  json added = json::array();
  for (const auto& [id, content] : tokens) added.push_back(added_token(content, id));

  json merges = json::array();
  for (const std::string& line : split(form.assets[1].bytes.text(), '\n')) {
    const std::string rule = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
    if (!rule.empty() && !rule.starts_with("#version")) merges.push_back(rule);
  }
  const json bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}, {"use_regex", false}};
  const json words = {
      {"type", "Split"}, {"pattern", {{"Regex", std::string(row.words)}}}, {"behavior", "Isolated"}, {"invert", false}};
  json out;
  out["version"] = "1.0";
  out["truncation"] = out["padding"] = nullptr;
  out["added_tokens"] = std::move(added);
  out["normalizer"] = row.nfc ? json{{"type", "NFC"}} : json();
  out["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {words, bytes}}};
  out["post_processor"] = bytes;
  if (row.takes_specials) {
    const json special = {{"SpecialToken", {{"id", row.start}, {"type_id", 0}}}};
    const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
               second = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
    out["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", {special, text}},
        {"pair", {special, text, special, second}},
        {"special_tokens",
         {{std::string(row.start),
           {{"id", row.start}, {"ids", {*tokenizer.specials().start}}, {"tokens", {row.start}}}}}}};
  }
  out["decoder"] = bytes;
  out["model"] = {{"type", "BPE"},
                  {"dropout", nullptr},
                  {"unk_token", nullptr},
                  {"byte_fallback", false},
                  {"fuse_unk", false},
                  {"ignore_merges", false},
                  {"continuing_subword_prefix", nullptr},
                  {"end_of_word_suffix", nullptr},
                  {"vocab", std::move(vocabulary)},
                  {"merges", std::move(merges)}};
  return out;
}

/// Returns the stop and padding tokens for generation.
json generation_config(const Tokenizer& tokenizer) {
  const SpecialIds& specials = tokenizer.specials();
  json out = json::object();
  if (specials.start) out["bos_token_id"] = *specials.start;
  if (specials.stop.size() == 1) out["eos_token_id"] = specials.stop.front();
  if (specials.stop.size() > 1) out["eos_token_id"] = specials.stop;
  return out;
}

std::vector<io::NamedBytes> files_of_class(const std::string& path, const KerasForm& form,
                                           const TokenizerTables& tables) {
  const KerasClass& row = class_named(tables, form.class_name, printable(path));
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(path, tables);
  const json own = json::parse(form.config);
  json config = named_tokens(row);
  std::vector<io::NamedBytes> out;
  switch (row.kind) {
    case Kind::byte_pairs:
      if (row.words.empty())
        throw bad_input("{}: the words of a {} in transformers are unknown to attn", printable(path), row.name);
      out.push_back({"vocab.json", form.assets[0].bytes});
      out.push_back({"merges.txt", form.assets[1].bytes});
      out.push_back({kTokenizerJson, bytes_of(byte_pair_file(row, form, *tokenizer))});
      config["tokenizer_class"] = "PreTrainedTokenizerFast";
      break;
    case Kind::word_piece:
      out.push_back({"vocab.txt", form.assets[0].bytes});
      config["tokenizer_class"] = "BertTokenizer";
      config["do_lower_case"] = JsonNode(own, form.class_name)["lowercase"].flag(false);
      config["strip_accents"] = JsonNode(own, form.class_name)["strip_accents"].flag(false);
      break;
    case Kind::clip_pairs:
    case Kind::longest_match:
    case Kind::characters:
      throw bad_input("{}: attn does not write transformers' files for a {}", printable(path), row.name);
    case Kind::sentence_piece: {
      if (row.transformers_class.empty())
        throw bad_input("{}: transformers has no files for a {}", printable(path), row.name);
      out.push_back({std::string(row.transformers_file), form.assets[0].bytes});
      config["tokenizer_class"] = row.transformers_class;
      if (row.transformers_class != "T5Tokenizer") config.update({{"add_bos_token", true}, {"add_eos_token", false}});
      if (const auto unknown = tokenizer->token(0); unknown && tokenizer->id("<unk>")) config["unk_token"] = "<unk>";
      break;
    }
  }
  out.push_back({"tokenizer_config.json", bytes_of(config)});
  if (row.kind != Kind::word_piece) out.push_back({"generation_config.json", bytes_of(generation_config(*tokenizer))});
  return out;
}

}  // namespace

std::optional<KerasForm> keras_form(const std::string& path, const TokenizerTables& tables) {
  const ModelFiles files(path);
  if (const auto object = keras_object(files)) return form_of_object(files, *object, tables);
  if (files.is_archive() || !has_hugging_face_tokenizer(files)) return std::nullopt;
  return form_of_folder(files, tables);
}

std::vector<io::NamedBytes> hugging_face_files(const std::string& path) {
  constexpr std::array kNames{"tokenizer.json",
                              "tokenizer_config.json",
                              "tokenizer.model",
                              "spiece.model",
                              "sentencepiece.bpe.model",
                              "vocab.json",
                              "merges.txt",
                              "vocab.txt",
                              "special_tokens_map.json",
                              "added_tokens.json",
                              "chat_template.jinja",
                              "generation_config.json"};
  const ModelFiles files(path);
  std::vector<io::NamedBytes> out;
  if (files.is_archive() || keras_object(files)) return out;
  for (const char* name : kNames)
    if (files.has(name)) out.push_back({name, files.read(name, kMaxTokenizerFile)});
  return out;
}

std::vector<io::NamedBytes> hugging_face_form(const std::string& path, const TokenizerTables& tables) {
  const ModelFiles files(path);
  const auto object = keras_object(files);
  if (!object) return {};
  return files_of_class(path, form_of_object(files, *object, tables), tables);
}

}  // namespace attn::tokenizers
