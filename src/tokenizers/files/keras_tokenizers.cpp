#include "keras_tokenizers.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "algorithms/byte_pairs.h"
#include "algorithms/character_table.h"
#include "algorithms/keras_words.h"
#include "algorithms/longest_match.h"
#include "algorithms/sentence_piece.h"
#include "algorithms/word_piece.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "pipeline/pipeline.h"
#include "text/characters.h"
#include "text_lines.h"

namespace attn::tokenizers {
namespace {

constexpr std::string_view kWordEnd = "</w>";  // in CLIP's vocabulary
constexpr std::int64_t kMaxAsset = std::int64_t{256} << 20;

/// The class's special tokens; `find` returns the id of a token.
template <typename Find>
SpecialIds specials_of(const KerasClass& row, const JsonNode& config, const std::string& place, Find&& find) {
  const auto id_of = [&](std::string_view token) -> Id {
    if (const std::optional<Id> id = find(token)) return *id;
    throw bad_input("{}: the special token '{}' of {} is not in the vocabulary", place, shortened(token), row.name);
  };
  SpecialIds specials;
  const auto add = [&](std::string_view token) -> std::optional<Id> {
    if (token.empty()) return std::nullopt;
    specials.all.push_back(id_of(token));
    return specials.all.back();
  };
  specials.start = add(row.start);
  specials.end = add(row.end);
  specials.pad = add(row.pad);
  if (!specials.pad) specials.pad = 0;
  if (specials.end) specials.stop.push_back(*specials.end);
  if (const auto second = add(row.second_end)) specials.stop.push_back(*second);
  for (const std::string_view token : row.more) add(token);
  const auto has = [&](std::string_view token) { return find(token).has_value(); };
  for (const auto& [key, tokens] : {std::pair("has_vision_tokens", row.vision), {"has_video_tokens", row.video}}) {
    if (tokens.empty() || !config[key].flag(std::ranges::all_of(tokens, has))) continue;
    for (const std::string_view token : tokens) add(token);
  }
  for (const std::string_view token : row.audio)
    if (has(token)) add(token);
  for (const std::string_view token : row.shown)
    if (has(token)) specials.shown.push_back(id_of(token));
  if (!row.turn_end.empty()) {
    // If there is no such piece, SentencePiece returns the unknown one.
    const std::optional<Id> turn = find(row.turn_end), unknown = find("<unk>");
    if (turn || unknown) specials.stop.push_back(turn ? *turn : *unknown);
  }
  std::sort(specials.all.begin(), specials.all.end());
  specials.all.erase(std::unique(specials.all.begin(), specials.all.end()), specials.all.end());
  return specials;
}

/// Returns the tokens to find in texts: those of the vocabulary, and new ones after it.
std::vector<AddedToken> added_tokens(const std::vector<std::string>& contents, const Vocabulary& vocabulary) {
  std::vector<AddedToken> added;
  auto next = static_cast<Id>(vocabulary.size());
  for (const std::string& content : contents) {
    AddedToken token;
    token.content = content;
    const std::optional<Id> id = vocabulary.find(content);
    token.id = id ? *id : next++;
    added.push_back(std::move(token));
  }
  return added;
}

/// Adds the special tokens and the languages of a config to the vocabulary, and returns the special ones.
std::vector<std::string> add_stated_tokens(const JsonNode& config, Vocabulary& vocabulary) {
  std::vector<std::string> special;
  for (const char* key : {"special_tokens", "language_tokens"}) {
    const JsonNode tokens = config[key];
    if (tokens.is_null()) continue;
    if (!tokens.is_object()) throw bad_input("{}: expected an object of tokens with their ids", tokens.place());
    for (const auto& [token, id] : tokens.json().items()) {
      vocabulary.add(token, tokens[token].integer());
      if (std::string_view(key) == "special_tokens") special.push_back(token);
    }
  }
  return special;
}

void add_words(PipelineParts& parts, const KerasClass& row, const JsonNode& config, const OpenOptions& options) {
  const auto regex = [&](std::string pattern, const std::string& place) {
    parts.pre_tokenizers.push_back(make_split(Pattern::regex(std::move(pattern), place), Behavior::isolated, false));
  };
  const std::string name(row.name);
  if (options.words == Words::gpt2) {
    regex(kGpt2Words, name);
  } else if (options.words == Words::llama3) {
    regex(kLlama3Words, name);
  } else if (!config["split_pattern"].is_null()) {  // for MistralTekkenTokenizer
    regex(config["split_pattern"].text(), config["split_pattern"].place());
  } else if (options.workflow == Workflow::hugging_face && options.words == Words::of_workflow) {
    if (row.words.empty())
      throw bad_usage("{}: the words of this class in Hugging Face's library are unknown; open its tokenizer.json",
                      name);
    regex(std::string(row.words), name);
  } else {
    // KerasHub passes the pattern as a string, so the library searches for this literal text and does not split words.
    parts.pre_tokenizers.push_back(make_split(Pattern::literal(kLlama3Words), Behavior::isolated, false));
  }
}

std::unique_ptr<Tokenizer> make_word_piece(const KerasClass& row, const JsonNode& config, const KerasAssets& assets,
                                           const OpenOptions& options) {
  const std::string place = assets.files->place(assets.vocabulary);
  Vocabulary vocabulary = read_token_lines(assets.files->read(assets.vocabulary, kMaxAsset).text(), place);
  PipelineParts parts;
  parts.class_name = row.name;
  parts.specials = specials_of(row, config, place, [&](std::string_view token) { return vocabulary.find(token); });
  parts.ends_at_null = options.workflow == Workflow::tensorflow;
  WordPiece::Options pieces;
  pieces.unk_token = config["oov_token"].text(std::string(row.unknown));
  pieces.prefix = config["suffix_indicator"].text(pieces.prefix);
  pieces.measure = WordPiece::Measure::bytes;
  if (config["strip_accents"].flag(false)) {
    parts.normalizers.push_back(make_form(NormalForm::nfd));
    parts.normalizers.emplace_back(
        [](std::string_view text, const RuleLimit&) { return without(text, is_nonspacing); });
  }
  const bool split = config["split"].flag(true);
  if (split) parts.pre_tokenizers.push_back(make_keras_words(config["split_on_cjk"].flag(true)));
  if (config["lowercase"].flag(false)) parts.pre_tokenizers.push_back(make_keras_lower_case());
  if (split && config["special_tokens_in_strings"].flag(false)) {
    std::vector<std::string> contents;
    for (const Id id : parts.specials.all) contents.emplace_back(*vocabulary.token(id));
    for (const JsonNode& token : config["special_tokens"].items()) contents.push_back(token.text());
    parts.added = added_tokens(contents, vocabulary);
  }
  parts.decoders.push_back(make_keras_word_piece_decoder(pieces.prefix));
  parts.model = std::make_unique<WordPiece>(std::move(vocabulary), pieces);
  return std::make_unique<Pipeline>(std::move(parts));
}

std::unique_ptr<Tokenizer> make_sentence_piece(const KerasClass& row, const JsonNode& config,
                                               const KerasAssets& assets) {
  const std::string place = assets.files->place(assets.vocabulary);
  SentencePieceModel model(assets.files->read(assets.vocabulary, kMaxAsset).text(), place);
  SentencePieceParts parts;
  parts.class_name = row.name;
  parts.numbering = row.numbering;
  const auto control = [&](const char* key, std::string_view piece) {
    std::vector<Id> ids;
    if (!config[key].flag(false)) return ids;
    const std::optional<Id> id = model.proto().pieces.find(piece);
    if (!id) throw bad_input("{}: {} requires the piece '{}', which is missing", config[key].place(), key, piece);
    ids.push_back(*id);
    return ids;
  };
  parts.before = control("add_bos", model.proto().start);
  parts.after = control("add_eos", model.proto().end);
  auto tokenizer = std::make_unique<SentencePieceTokenizer>(std::move(model), std::move(parts));
  tokenizer->set_specials(
      specials_of(row, config, place, [&](std::string_view token) { return tokenizer->id(token); }));
  return tokenizer;
}

/// Special tokens of such a class are ids in its config.
std::unique_ptr<Tokenizer> make_longest_match(const KerasClass& row, const JsonNode& config,
                                              const KerasAssets& assets) {
  const std::string place = assets.files->place(assets.vocabulary);
  Vocabulary vocabulary = read_numbered_tokens(assets.files->read(assets.vocabulary, kMaxAsset).text(), place);
  PipelineParts parts;
  parts.class_name = row.name;
  const auto id_in = [&](const char* key) -> std::optional<Id> {
    const JsonNode node = config[key];
    if (node.is_null()) return std::nullopt;
    const std::int64_t id = node.integer();
    if (id < 0 || id >= kMostIds) throw bad_input("{}: expected an id from 0 to {}", node.place(), kMostIds - 1);
    return static_cast<Id>(id);
  };
  SpecialIds& specials = parts.specials;
  specials.start = id_in("start_token_id");
  specials.pad = id_in("pad_token_id").value_or(0);
  specials.end = id_in("end_token_id");
  // Without an end token of its own, KerasHub ends a text at an empty line.
  if (!specials.end || *specials.end == 0 || specials.end == specials.pad)
    specials.end = vocabulary.find("\n\n").value_or(*specials.pad);
  specials.stop = {*specials.end};
  specials.all = {*specials.pad};
  parts.model = std::make_unique<LongestMatch>(std::move(vocabulary));
  return std::make_unique<Pipeline>(std::move(parts));
}

/// The lines of the vocabulary hold its characters. The end token comes before them, the others after them.
std::unique_ptr<Tokenizer> make_characters(const KerasClass& row, const JsonNode& config, const KerasAssets& assets) {
  const std::string place = assets.files->place(assets.vocabulary);
  for (const char* key : {"remove_whitespace", "normalize_unicode"})
    if (!config[key].flag(true)) throw bad_input("{}: attn supports only true", config[key].place());
  constexpr std::int64_t kMostCharacters = 25;
  const std::int64_t most =
      config["max_label_length"].is_null() ? kMostCharacters : config["max_label_length"].integer();
  if (most < 1) throw bad_input("{}: expected 1 or more", config["max_label_length"].place());
  std::string characters;
  const io::Bytes file = assets.files->read(assets.vocabulary, kMaxAsset);
  for (const std::string_view line : lines_of(file.text(), place)) characters += line;
  Vocabulary vocabulary(place);
  vocabulary.add(row.end, 0);
  bool has_lower = false, has_upper = false;
  for (std::size_t at = 0; at < characters.size();) {
    const std::size_t from = at;
    const char32_t point = next_point(characters, at);
    has_lower = has_lower || (point >= 'a' && point <= 'z');
    has_upper = has_upper || (point >= 'A' && point <= 'Z');
    vocabulary.add(std::string_view(characters).substr(from, at - from), vocabulary.end(),
                   Vocabulary::Repeats::last_counts);
  }
  vocabulary.add(row.start, vocabulary.end());
  vocabulary.add(row.pad, vocabulary.end());
  PipelineParts parts;
  parts.class_name = row.name;
  parts.specials = specials_of(row, config, place, [&](std::string_view token) { return vocabulary.find(token); });
  parts.normalizers.push_back(make_form(NormalForm::nfkd));
  const auto letters = !has_upper   ? CharacterTable::Case::lower
                       : !has_lower ? CharacterTable::Case::upper
                                    : CharacterTable::Case::kept;
  parts.model = std::make_unique<CharacterTable>(std::move(vocabulary), letters, most);
  return std::make_unique<Pipeline>(std::move(parts));
}

/// Adds the steps of CLIP's tokenizer (clip_tokenizer.py in KerasHub), in both workflows.
void add_clip_words(PipelineParts& parts, const KerasClass& row, bool add_prefix_space, const OpenOptions& options) {
  const std::string name(row.name);
  if (options.words != Words::of_workflow) throw bad_usage("{}: the pattern that splits words is fixed", name);
  parts.decoders.push_back(make_byte_level_decoder());
  for (const std::string_view token : {kWordEnd, row.start, row.end})
    parts.decoders.push_back(make_replace_decoder(Pattern::literal(std::string(token)), ""));
  if (options.workflow == Workflow::tensorflow) {
    parts.pre_tokenizers.push_back(make_tensorflow_words(add_prefix_space));
    // Spaces are no part of words.
    parts.pre_tokenizers.push_back(make_split(Pattern::regex(R"(\s+)", name), Behavior::removed, false));
    parts.pre_tokenizers.push_back(make_byte_level(false, false));
    parts.ends_at_null = true;
    return;
  }
  parts.normalizers.push_back(make_form(NormalForm::nfc));
  parts.normalizers.push_back(make_replace(Pattern::regex(R"(\s+)", name), " "));
  parts.normalizers.emplace_back([](std::string_view text, const RuleLimit&) { return lower_case(text); });
  parts.pre_tokenizers.push_back(make_split(Pattern::regex(std::string(row.words), name), Behavior::removed, true));
  parts.pre_tokenizers.push_back(make_byte_level(add_prefix_space, true));
}

}  // namespace

std::unique_ptr<Tokenizer> make_keras_byte_pairs(const KerasClass& row, const JsonNode& config, Vocabulary vocabulary,
                                                 const MergeRules& merges, std::vector<std::string> unsplittable,
                                                 const OpenOptions& options) {
  PipelineParts parts;
  parts.class_name = row.name;
  parts.specials =
      specials_of(row, config, vocabulary.place(), [&](std::string_view token) { return vocabulary.find(token); });
  if (row.states_specials) {
    for (const std::string& token : unsplittable)
      if (const std::optional<Id> id = vocabulary.find(token)) parts.specials.all.push_back(*id);
    std::sort(parts.specials.all.begin(), parts.specials.all.end());
    parts.specials.all.erase(std::unique(parts.specials.all.begin(), parts.specials.all.end()),
                             parts.specials.all.end());
  }
  if (unsplittable.empty())
    for (const Id id : parts.specials.all) unsplittable.emplace_back(*vocabulary.token(id));
  const bool add_prefix_space = config["add_prefix_space"].flag(false);
  BytePairs::Options pairs;
  parts.added = added_tokens(unsplittable, vocabulary);
  if (row.kind == TokenizerKind::clip_pairs) {
    if (config["pad_with_end_token"].flag(false)) parts.specials.pad = parts.specials.end;
    add_clip_words(parts, row, add_prefix_space, options);
    pairs.word_end = kWordEnd;
    pairs.unk_token = row.end;
    parts.model = std::make_unique<BytePairs>(std::move(vocabulary), merges, pairs);
    return std::make_unique<Pipeline>(std::move(parts));
  }
  if (options.workflow == Workflow::tensorflow) {
    parts.pre_tokenizers.push_back(make_tensorflow_words(add_prefix_space));
    parts.ends_at_null = true;
  } else {
    if (row.nfc && options.workflow == Workflow::hugging_face) parts.normalizers.push_back(make_form(NormalForm::nfc));
    add_words(parts, row, config, options);
  }
  parts.pre_tokenizers.push_back(make_byte_level(add_prefix_space && options.workflow != Workflow::tensorflow, false));
  parts.decoders.push_back(make_byte_level_decoder());
  parts.model = std::make_unique<BytePairs>(std::move(vocabulary), merges, pairs);
  return std::make_unique<Pipeline>(std::move(parts));
}

std::unique_ptr<Tokenizer> make_keras_tokenizer(const KerasClass& row, const JsonNode& config,
                                                const KerasAssets& assets, const OpenOptions& options) {
  if (options.words != Words::of_workflow && row.kind != TokenizerKind::byte_pairs &&
      row.kind != TokenizerKind::clip_pairs)
    throw bad_usage("{}: only byte-pair tokenizers split a text into words by a pattern", row.name);
  if (row.kind == TokenizerKind::word_piece) return make_word_piece(row, config, assets, options);
  if (row.kind == TokenizerKind::sentence_piece) return make_sentence_piece(row, config, assets);
  if (row.kind == TokenizerKind::longest_match) return make_longest_match(row, config, assets);
  if (row.kind == TokenizerKind::characters) return make_characters(row, config, assets);
  const auto bytes = [&](const std::string& name) { return assets.files->read(name, kMaxAsset); };
  std::vector<std::string> unsplittable;
  for (const JsonNode& token : config["unsplittable_tokens"].items()) unsplittable.push_back(token.text());
  Vocabulary vocabulary = read_token_table(bytes(assets.vocabulary).text(), assets.files->place(assets.vocabulary));
  if (row.states_specials)
    for (std::string& token : add_stated_tokens(config, vocabulary)) unsplittable.push_back(std::move(token));
  return make_keras_byte_pairs(row, config, std::move(vocabulary),
                               read_merges(bytes(assets.merges).text(), assets.files->place(assets.merges)),
                               std::move(unsplittable), options);
}

}  // namespace attn::tokenizers
