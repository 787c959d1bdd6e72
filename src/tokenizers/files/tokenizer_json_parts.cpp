#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "base64.h"
#include "tokenizer_json.h"

namespace attn::tokenizers {
namespace {

constexpr std::size_t kLongestContent = 1024;  // maximum bytes of a replacement

Error unknown_type(const JsonNode& node, const char* part) {
  return bad_input("{}: the {} '{}' is not known", node["type"].place(), part, shortened(node["type"].text("null")));
}

std::string content_of(const JsonNode& node) {
  std::string content = node.text();
  if (content.size() > kLongestContent)
    throw bad_input("{}: over {} bytes are not accepted", node.place(), kLongestContent);
  return content;
}

/// Requires exactly one character. Hugging Face rejects other lengths too, and removing an empty string repeatedly
/// would never end.
std::string letter_of(const JsonNode& node) {
  std::string letter = node.text();
  if (letter.empty() || length_of(letter[0]) != letter.size())
    throw bad_input("{}: expected one character, got '{}'", node.place(), shortened(letter));
  return letter;
}

/// Limits the number of steps, because each scans the whole text.
void expect_few(std::size_t steps, const JsonNode& node) {
  constexpr std::size_t kMost = 256;
  if (steps > kMost) throw bad_input("{}: over {} steps are not accepted", node.place(), kMost);
}

Pattern pattern_of(const JsonNode& node) {
  if (!node["String"].is_null()) return Pattern::literal(content_of(node["String"]));
  return Pattern::regex(node["Regex"].text(), node["Regex"].place());
}

Behavior behavior_of(const JsonNode& node) {
  constexpr std::array<std::pair<std::string_view, Behavior>, 5> kNames{
      {{"Removed", Behavior::removed},
       {"Isolated", Behavior::isolated},
       {"MergedWithPrevious", Behavior::merged_with_previous},
       {"MergedWithNext", Behavior::merged_with_next},
       {"Contiguous", Behavior::contiguous}}};
  const std::string name = node.text();
  for (const auto& [known, behavior] : kNames)
    if (name == known) return behavior;
  throw bad_input("{}: the behavior '{}' is not known", node.place(), shortened(name));
}

Prepend prepend_of(const JsonNode& node) {
  // Files from before 0.19 have add_prefix_space instead.
  const std::string name = node["prepend_scheme"].text(node["add_prefix_space"].flag(true) ? "always" : "never");
  if (name == "always") return Prepend::always;
  if (name == "first") return Prepend::first;
  if (name == "never") return Prepend::never;
  throw bad_input("{}: '{}' is not known", node["prepend_scheme"].place(), shortened(name));
}

std::size_t count_of(const JsonNode& node) {
  const std::int64_t count = node.integer(0);
  if (count < 0) throw bad_input("{}: expected a number from 0 on", node.place());
  return static_cast<std::size_t>(count);
}

Id id_of(const JsonNode& node) {
  const std::int64_t id = node.integer();
  if (id < 0 || id >= kMostIds) throw bad_input("{}: ids from 0 to {} are read", node.place(), kMostIds - 1);
  return static_cast<Id>(id);
}

}  // namespace

void add_normalizers(const JsonNode& node, Normalizers& normalizers) {
  if (node.is_null()) return;
  const std::string type = node["type"].text("null");
  if (type == "Sequence") {
    for (const JsonNode& inner : node["normalizers"].items()) add_normalizers(inner, normalizers);
  } else if (type == "NFC") {
    normalizers.push_back(make_form(NormalForm::nfc));
  } else if (type == "NFD") {
    normalizers.push_back(make_form(NormalForm::nfd));
  } else if (type == "NFKC") {
    normalizers.push_back(make_form(NormalForm::nfkc));
  } else if (type == "NFKD") {
    normalizers.push_back(make_form(NormalForm::nfkd));
  } else if (type == "Lowercase") {
    normalizers.emplace_back([](std::string_view text, const RuleLimit&) { return lower_case(text); });
  } else if (type == "StripAccents") {
    normalizers.emplace_back([](std::string_view text, const RuleLimit&) { return without(text, is_mark); });
  } else if (type == "BertNormalizer") {
    BertNormalizer bert;
    bert.clean_text = node["clean_text"].flag(true);
    bert.handle_chinese_chars = node["handle_chinese_chars"].flag(true);
    bert.lowercase = node["lowercase"].flag(true);
    bert.strip_accents = node["strip_accents"].flag(bert.lowercase);
    normalizers.emplace_back(bert);
  } else if (type == "Replace") {
    normalizers.push_back(make_replace(pattern_of(node["pattern"]), content_of(node["content"])));
  } else if (type == "Prepend") {
    normalizers.push_back(make_prepend(content_of(node["prepend"])));
  } else if (type == "Strip") {
    normalizers.push_back(make_strip(node["strip_left"].flag(true), node["strip_right"].flag(true)));
  } else if (type == "Precompiled") {
    if (node["precompiled_charsmap"].text("").empty()) return;  // an empty table
    const std::string place = node["precompiled_charsmap"].place();
    normalizers.push_back(make_char_map(CharMap(from_base64(node["precompiled_charsmap"].text(), place), place)));
  } else {
    throw unknown_type(node, "normalizer");
  }
  expect_few(normalizers.size(), node);
}

void add_pre_tokenizers(const JsonNode& node, PreTokenizers& pre_tokenizers) {
  if (node.is_null()) return;
  const std::string type = node["type"].text("null");
  if (type == "Sequence") {
    for (const JsonNode& inner : node["pretokenizers"].items()) add_pre_tokenizers(inner, pre_tokenizers);
  } else if (type == "ByteLevel") {
    pre_tokenizers.push_back(make_byte_level(node["add_prefix_space"].flag(true), node["use_regex"].flag(true)));
  } else if (type == "Split") {
    pre_tokenizers.push_back(
        make_split(pattern_of(node["pattern"]), behavior_of(node["behavior"]), node["invert"].flag(false)));
  } else if (type == "Metaspace") {
    pre_tokenizers.push_back(
        make_metaspace(letter_of(node["replacement"]), prepend_of(node), node["split"].flag(true)));
  } else if (type == "BertPreTokenizer") {
    pre_tokenizers.push_back(make_bert_words());
  } else if (type == "WhitespaceSplit") {
    pre_tokenizers.push_back(make_white_space_split());
  } else if (type == "Whitespace") {
    pre_tokenizers.push_back(make_white_space_split());
    pre_tokenizers.push_back(make_word_runs());
  } else if (type == "Digits") {
    pre_tokenizers.push_back(make_digits(node["individual_digits"].flag(false)));
  } else if (type == "Punctuation") {
    const bool is_given = !node["behavior"].is_null();
    pre_tokenizers.push_back(make_punctuation(is_given ? behavior_of(node["behavior"]) : Behavior::isolated));
  } else {
    throw unknown_type(node, "pre-tokenizer");
  }
  expect_few(pre_tokenizers.size(), node);
}

void add_decoders(const JsonNode& node, Decoders& decoders) {
  if (node.is_null()) return;
  const std::string type = node["type"].text("null");
  if (type == "Sequence") {
    for (const JsonNode& inner : node["decoders"].items()) add_decoders(inner, decoders);
  } else if (type == "ByteLevel") {
    decoders.push_back(make_byte_level_decoder());
  } else if (type == "WordPiece") {
    decoders.push_back(make_word_piece_decoder(node["prefix"].text("##"), node["cleanup"].flag(true)));
  } else if (type == "Metaspace") {
    decoders.push_back(make_metaspace_decoder(letter_of(node["replacement"]), prepend_of(node) != Prepend::never));
  } else if (type == "ByteFallback") {
    decoders.push_back(make_byte_fallback_decoder());
  } else if (type == "Fuse") {
    decoders.push_back(make_fuse_decoder());
  } else if (type == "Strip") {
    decoders.push_back(make_strip_decoder(letter_of(node["content"]), count_of(node["start"]), count_of(node["stop"])));
  } else if (type == "Replace") {
    decoders.push_back(make_replace_decoder(pattern_of(node["pattern"]), content_of(node["content"])));
  } else {
    throw unknown_type(node, "decoder");
  }
  expect_few(decoders.size(), node);
}

void add_specials(const JsonNode& node, std::vector<Id>& before, std::vector<Id>& after) {
  if (node.is_null()) return;
  const std::string type = node["type"].text("null");
  if (type == "Sequence") {
    for (const JsonNode& inner : node["processors"].items()) add_specials(inner, before, after);
  } else if (type == "ByteLevel") {
    return;  // the setting changes offsets of tokens in the text, not ids
  } else if (type == "TemplateProcessing") {
    bool is_behind = false;
    std::vector<Id> first;
    for (const JsonNode& part : node["single"].items()) {
      if (part["Sequence"].is_object()) {
        is_behind = true;
        continue;
      }
      const std::string name = part["SpecialToken"]["id"].text();
      const JsonNode token = node["special_tokens"][name];
      if (token.is_null()) throw bad_input("{}: missing, but required by the template", token.place());
      for (const JsonNode& id : token["ids"].items()) (is_behind ? after : first).push_back(id_of(id));
    }
    before.insert(before.begin(), first.begin(), first.end());
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    const auto id_in = [&](const char* key) {
      const std::vector<JsonNode> pair = node[key].items();
      if (pair.size() != 2) throw bad_input("{}: expected a token and its id", node[key].place());
      return id_of(pair[1]);
    };
    before.insert(before.begin(), id_in("cls"));
    after.push_back(id_in("sep"));
  } else {
    throw unknown_type(node, "post-processor");
  }
}

}  // namespace attn::tokenizers
