#include "hugging_face_folder.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "algorithms/sentence_piece.h"
#include "algorithms/word_piece.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "keras_tokenizers.h"
#include "pipeline/pipeline.h"
#include "text_lines.h"
#include "tokenizer_json.h"

namespace attn::tokenizers {
namespace {

constexpr const char* kVocabJson = "vocab.json";
constexpr const char* kMergesTxt = "merges.txt";
constexpr const char* kVocabTxt = "vocab.txt";
constexpr std::array<const char*, 3> kModels{"tokenizer.model", "spiece.model", "sentencepiece.bpe.model"};

using Around = FolderTokenizer::Around;
using VocabularyFile = FolderTokenizer::Vocabulary;

/// The small config files of the folder.
struct Configs {
  explicit Configs(const ModelFiles& files)
      : tokenizer_json(files.config("tokenizer_config.json")),
        model_json(files.config("config.json")),
        generation_json(files.config("generation_config.json")),
        tokenizer(tokenizer_json, files.place("tokenizer_config.json")),
        model(model_json, files.place("config.json")),
        generation(generation_json, files.place("generation_config.json")) {}

  /// Returns a token of tokenizer_config.json: a string, or an object with its content; "" if it has none.
  [[nodiscard]] std::string named(const char* key) const {
    const JsonNode node = tokenizer[key];
    return node.is_object() ? node["content"].text() : node.text("");
  }
  [[nodiscard]] std::string model_type() const { return model["model_type"].text(""); }

  nlohmann::json tokenizer_json, model_json, generation_json;
  JsonNode tokenizer, model, generation;
};

std::optional<std::string> model_file(const ModelFiles& files) {
  for (const char* name : kModels)
    if (files.has(name)) return name;
  return std::nullopt;
}

/// Returns the ids in a config: one, several, or none.
std::vector<Id> ids_in(const JsonNode& node) {
  std::vector<Id> ids;
  const auto add = [&](const JsonNode& one) {
    const std::int64_t id = one.integer();
    if (id >= 0 && id < kMostIds) ids.push_back(static_cast<Id>(id));  // -1 means none
  };
  if (node.is_array()) {
    for (const JsonNode& one : node.items()) add(one);
  } else if (!node.is_null()) {
    add(node);
  }
  return ids;
}

/// Collects special ids: first by the names in tokenizer_config.json, then by the numbers in the other two files.
/// `find` returns the id of a token; `all` are ids already known to be special.
template <typename Find>
SpecialIds specials_of(const Configs& configs, std::vector<Id> all, Find&& find) {
  SpecialIds specials;
  specials.all = std::move(all);
  const auto first = [&](std::initializer_list<const char*> names, const char* number) -> std::optional<Id> {
    for (const char* name : names) {
      const std::string token = configs.named(name);
      const std::optional<Id> id = token.empty() ? std::nullopt : find(token);
      if (id) return id;
    }
    for (const JsonNode* config : {&configs.generation, &configs.model})
      if (const std::vector<Id> ids = ids_in((*config)[number]); !ids.empty()) return ids[0];
    return std::nullopt;
  };
  specials.start = first({"bos_token", "cls_token"}, "bos_token_id");
  specials.end = first({"eos_token", "sep_token"}, "eos_token_id");
  specials.pad = first({"pad_token"}, "pad_token_id");
  std::vector<Id> stop = ids_in(configs.generation["eos_token_id"]);
  if (stop.empty()) stop = ids_in(configs.model["eos_token_id"]);
  if (specials.end) stop.insert(stop.begin(), *specials.end);
  std::unordered_set<Id> seen;
  for (const Id id : stop)
    if (seen.insert(id).second) specials.stop.push_back(id);
  for (const std::optional<Id>& id : {specials.start, specials.end, specials.pad})
    if (id) specials.all.push_back(*id);
  std::sort(specials.all.begin(), specials.all.end());
  specials.all.erase(std::unique(specials.all.begin(), specials.all.end()), specials.all.end());
  return specials;
}

std::vector<Id> special_ids(const std::vector<AddedToken>& added) {
  std::vector<Id> ids;
  for (const AddedToken& token : added)
    if (token.special) ids.push_back(token.id);
  return ids;
}

std::unique_ptr<Tokenizer> finished(PipelineParts parts, const Configs& configs) {
  parts.specials = specials_of(configs, special_ids(parts.added), [&](std::string_view token) {
    for (const AddedToken& added : parts.added)
      if (added.content == token) return std::optional(added.id);
    return parts.model->vocabulary().find(token);
  });
  return std::make_unique<Pipeline>(std::move(parts));
}

/// Returns the tokens that tokenizer_config.json names, if the vocabulary has them. For folders without a
/// tokenizer.json.
std::vector<AddedToken> named_tokens(const Configs& configs, const Vocabulary& vocabulary) {
  std::vector<AddedToken> added;
  for (const char* name :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    AddedToken token;
    token.content = configs.named(name);
    const std::optional<Id> id = vocabulary.find(token.content);
    const bool is_there = std::any_of(added.begin(), added.end(),
                                      [&](const AddedToken& other) { return other.content == token.content; });
    if (!id || token.content.empty() || is_there) continue;
    token.id = *id;
    added.push_back(std::move(token));
  }
  return added;
}

std::unique_ptr<Tokenizer> open_byte_pairs(const ModelFiles& files, const Configs& configs,
                                           const FolderTokenizer& row) {
  Vocabulary vocabulary = read_token_table(files.read(kVocabJson, kMaxTokenizerFile).text(), files.place(kVocabJson));
  PipelineParts parts;
  parts.class_name = "BPE";
  parts.added = named_tokens(configs, vocabulary);
  parts.pre_tokenizers.push_back(make_byte_level(configs.tokenizer["add_prefix_space"].flag(false), true));
  parts.decoders.push_back(make_byte_level_decoder());
  const auto around = [&](const char* name, std::vector<Id>& ids) {
    if (const auto id = vocabulary.find(configs.named(name))) ids.push_back(*id);
  };
  if (row.around == Around::start_and_end) {
    around("bos_token", parts.before);
    around("eos_token", parts.after);
  } else if (row.around == Around::start || configs.tokenizer["add_bos_token"].flag(false)) {
    around("bos_token", parts.before);
  }
  const MergeRules merges = read_merges(files.read(kMergesTxt, kMaxTokenizerFile).text(), files.place(kMergesTxt));
  parts.model = std::make_unique<BytePairs>(std::move(vocabulary), merges, BytePairs::Options{});
  return finished(std::move(parts), configs);
}

std::unique_ptr<Tokenizer> open_word_piece(const ModelFiles& files, const Configs& configs) {
  Vocabulary vocabulary = read_token_lines(files.read(kVocabTxt, kMaxTokenizerFile).text(), files.place(kVocabTxt));
  PipelineParts parts;
  parts.class_name = "WordPiece";
  parts.added = named_tokens(configs, vocabulary);
  BertNormalizer normalizer;
  normalizer.lowercase = configs.tokenizer["do_lower_case"].flag(true);
  normalizer.strip_accents = configs.tokenizer["strip_accents"].flag(normalizer.lowercase);
  normalizer.handle_chinese_chars = configs.tokenizer["tokenize_chinese_chars"].flag(true);
  parts.normalizers.emplace_back(normalizer);
  parts.pre_tokenizers.push_back(make_bert_words());
  parts.decoders.push_back(make_word_piece_decoder("##", true));
  if (const auto id = vocabulary.find(configs.named("cls_token"))) parts.before.push_back(*id);
  if (const auto id = vocabulary.find(configs.named("sep_token"))) parts.after.push_back(*id);
  WordPiece::Options options;
  if (const std::string unknown = configs.named("unk_token"); !unknown.empty()) options.unk_token = unknown;
  parts.model = std::make_unique<WordPiece>(std::move(vocabulary), options);
  return finished(std::move(parts), configs);
}

/// Opens an EsmTokenizer: a text consists of tokens of the vocabulary, with or without spaces between them.
std::unique_ptr<Tokenizer> open_token_list(const ModelFiles& files, const Configs& configs) {
  Vocabulary vocabulary = read_token_lines(files.read(kVocabTxt, kMaxTokenizerFile).text(), files.place(kVocabTxt));
  PipelineParts parts;
  parts.class_name = "tokens";
  parts.added = named_tokens(configs, vocabulary);
  const std::size_t named = parts.added.size();
  for (Id id = 0; id < vocabulary.end(); ++id) {
    const std::optional<std::string_view> token = vocabulary.token(id);
    const bool is_named = std::any_of(parts.added.begin(), parts.added.begin() + static_cast<std::ptrdiff_t>(named),
                                      [&](const AddedToken& other) { return other.id == id; });
    if (token && !token->empty() && !is_named)
      parts.added.push_back({.id = id, .content = std::string(*token), .special = false});
  }
  parts.pre_tokenizers.push_back(make_white_space_split());
  parts.decoders.push_back(make_word_piece_decoder("##", false));
  if (const auto id = vocabulary.find(configs.named("cls_token"))) parts.before.push_back(*id);
  if (const auto id = vocabulary.find(configs.named("eos_token"))) parts.after.push_back(*id);
  WordPiece::Options options;
  options.unk_token = configs.named("unk_token");
  parts.model = std::make_unique<WordPiece>(std::move(vocabulary), options);
  return finished(std::move(parts), configs);
}

std::unique_ptr<Tokenizer> open_sentence_piece(const ModelFiles& files, const std::string& name, const Configs& configs,
                                               const FolderTokenizer& row) {
  SentencePieceModel model(files.read(name, kMaxTokenizerFile).text(), files.place(name));
  std::vector<Id> all;
  for (std::size_t id = 0; id < model.proto().kinds.size(); ++id)
    if (model.proto().kinds[id] == ModelProto::Kind::control) all.push_back(static_cast<Id>(id));
  SentencePieceParts parts;
  parts.class_name = "SentencePiece";
  parts.numbering = row.numbering;
  if (parts.numbering == Numbering::fairseq) all = {0, 1, 2, 3};
  const auto around = [&](const char* piece, std::vector<Id>& ids) {
    if (const auto id = model.proto().pieces.find(configs.named(piece))) ids.push_back(*id);
  };
  if (row.around == Around::start_and_end) {
    around("cls_token", parts.specials_before);
    around("sep_token", parts.specials_after);
  }
  if (parts.numbering == Numbering::fairseq) {
    parts.specials_before = {0};
    parts.specials_after = {2};
  }
  const bool ends = row.around == Around::end_by_default;
  if (configs.tokenizer["add_bos_token"].flag(false)) around("bos_token", parts.specials_before);
  if (configs.tokenizer["add_eos_token"].flag(ends)) around("eos_token", parts.specials_after);
  auto tokenizer = std::make_unique<SentencePieceTokenizer>(std::move(model), std::move(parts));
  tokenizer->set_specials(
      specials_of(configs, std::move(all), [&](std::string_view token) { return tokenizer->id(token); }));
  return tokenizer;
}

/// Returns the row of a folder's model type; null if the tables have none.
const FolderTokenizer* find_folder(const TokenizerTables& tables, std::string_view type) {
  for (const FolderTokenizer& row : tables.folders)
    if (row.model_type == type) return &row;
  return nullptr;
}

/// Reads the vocabulary of a tokenizer.json with its added tokens. KerasHub ignores the other settings of the file.
std::unique_ptr<Tokenizer> convert_tokenizer_json(const ModelFiles& files, KerasClass row, const Configs& configs,
                                                  const OpenOptions& options) {
  TokenizerJson file =
      read_tokenizer_json(files.read(kTokenizerJson, kMaxTokenizerFile).text(), files.place(kTokenizerJson));
  if (!file.scores.empty())
    throw bad_input("{}: not a byte-pair tokenizer, but {} is one", file.vocabulary.place(), row.name);
  std::vector<std::string> unsplittable;
  for (const AddedToken& token : file.added) {
    if (token.content.starts_with("<|reserved_special_token_") && !row.splits_added) continue;
    if (file.vocabulary.find(token.content) != token.id) file.vocabulary.add(token.content, token.id);
    unsplittable.push_back(token.content);
  }
  const std::string start = configs.named("bos_token"), end = configs.named("eos_token");
  const std::vector<std::string_view> added(unsplittable.begin(), unsplittable.end());
  if (row.takes_specials) {
    row.start = start;
    row.end = end;
    row.more = added;
    if (end != "<|end_of_text|>") row.second_end = {};
  }
  if (row.splits_added) unsplittable.clear();  // KerasHub's converter does not pass them
  const nlohmann::json none = nlohmann::json::object();
  return make_keras_byte_pairs(row, JsonNode(none, files.place(kTokenizerJson)), std::move(file.vocabulary),
                               file.merges, std::move(unsplittable), options);
}

KerasSource source_of(const ModelFiles& files, const Configs& configs, const TokenizerTables& tables,
                      const FolderTokenizer& row) {
  KerasSource out{find_keras_class(tables, row.keras_class), "", false};
  switch (out.row->kind) {
    case TokenizerKind::clip_pairs:
    case TokenizerKind::byte_pairs: {
      const bool asks = row.vocabulary == VocabularyFile::vocab_json_if_there && files.has(kVocabJson);
      if (row.vocabulary == VocabularyFile::vocab_json || asks) out.vocabulary = kVocabJson;
      break;
    }
    case TokenizerKind::word_piece:
      out.vocabulary = kVocabTxt;
      out.lowercase = configs.tokenizer["do_lower_case"].flag(false);
      break;
    case TokenizerKind::longest_match:
    case TokenizerKind::characters:
      out.vocabulary = kVocabTxt;
      break;
    case TokenizerKind::sentence_piece:
      out.vocabulary = model_file(files).value_or(kModels[0]);
      break;
  }
  return out;
}

std::unique_ptr<Tokenizer> convert(const ModelFiles& files, const Configs& configs, const TokenizerTables& tables,
                                   const OpenOptions& options) {
  const std::string type = configs.model_type();
  const FolderTokenizer* const row = find_folder(tables, type);
  if (row == nullptr || row->keras_class.empty() || !row->is_converted)
    throw bad_usage(
        "{}: KerasHub does not read the tokenizer of a model of type '{}', so only the file's own workflow is "
        "available",
        configs.model["model_type"].place(), printable(type));
  const KerasSource source = source_of(files, configs, tables, *row);
  if (source.vocabulary.empty()) return convert_tokenizer_json(files, *source.row, configs, options);
  nlohmann::json config = nlohmann::json::object();
  if (source.row->kind == TokenizerKind::word_piece) config["lowercase"] = source.lowercase;
  return make_keras_tokenizer(*source.row, JsonNode(config, configs.tokenizer.place()),
                              {&files, source.vocabulary, kMergesTxt}, options);
}

}  // namespace

KerasSource keras_source(const ModelFiles& files, const TokenizerTables& tables) {
  const Configs configs(files);
  const std::string type = configs.model_type();
  if (const FolderTokenizer* const row = find_folder(tables, type); row != nullptr && !row->keras_class.empty())
    return source_of(files, configs, tables, *row);
  throw bad_usage("{}: KerasHub has no tokenizer for a model of type '{}'", configs.model["model_type"].place(),
                  printable(type));
}

bool has_hugging_face_tokenizer(const ModelFiles& files) {
  return files.has(kTokenizerJson) || files.has(kVocabJson) || files.has(kVocabTxt) || model_file(files).has_value();
}

std::unique_ptr<Tokenizer> open_hugging_face_folder(const ModelFiles& files, const TokenizerTables& tables,
                                                    const OpenOptions& options) {
  const Configs configs(files);
  if (options.workflow == Workflow::python || options.workflow == Workflow::tensorflow)
    return convert(files, configs, tables, options);
  if (options.words != Words::of_workflow)
    throw bad_usage(
        "{}: the tokenizer file defines how texts are split into words; --words requires one of KerasHub's workflows",
        printable(files.path()));
  if (files.has(kTokenizerJson)) {
    const std::string place = files.place(kTokenizerJson);
    return finished(parts_of(read_tokenizer_json(files.read(kTokenizerJson, kMaxTokenizerFile).text(), place)),
                    configs);
  }
  const FolderTokenizer* const found = find_folder(tables, configs.model_type());
  const FolderTokenizer row = found == nullptr ? FolderTokenizer{} : *found;
  if (files.has(kVocabJson) && files.has(kMergesTxt)) return open_byte_pairs(files, configs, row);
  if (const auto name = model_file(files)) return open_sentence_piece(files, *name, configs, row);
  if (files.has(kVocabTxt))
    return row.splits_tokens ? open_token_list(files, configs) : open_word_piece(files, configs);
  throw bad_input(
      "{}: no tokenizer is in this folder: neither a tokenizer.json, nor vocab.json with merges.txt, tokenizer.model "
      "or "
      "vocab.txt",
      printable(files.path()));
}

}  // namespace attn::tokenizers
