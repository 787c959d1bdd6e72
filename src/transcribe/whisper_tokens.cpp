#include "whisper_tokens.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/json_text.h"
#include "attn/open/folder_config.h"

namespace attn::transcribe {
namespace {

struct Language {
  std::string_view code, name;
};
/// The languages in the order of OpenAI's tokens.
constexpr std::array<Language, 100> kLanguages = {{
    {"en", "english"},        {"zh", "chinese"},       {"de", "german"},    {"es", "spanish"},    {"ru", "russian"},
    {"ko", "korean"},         {"fr", "french"},        {"ja", "japanese"},  {"pt", "portuguese"}, {"tr", "turkish"},
    {"pl", "polish"},         {"ca", "catalan"},       {"nl", "dutch"},     {"ar", "arabic"},     {"sv", "swedish"},
    {"it", "italian"},        {"id", "indonesian"},    {"hi", "hindi"},     {"fi", "finnish"},    {"vi", "vietnamese"},
    {"he", "hebrew"},         {"uk", "ukrainian"},     {"el", "greek"},     {"ms", "malay"},      {"cs", "czech"},
    {"ro", "romanian"},       {"da", "danish"},        {"hu", "hungarian"}, {"ta", "tamil"},      {"no", "norwegian"},
    {"th", "thai"},           {"ur", "urdu"},          {"hr", "croatian"},  {"bg", "bulgarian"},  {"lt", "lithuanian"},
    {"la", "latin"},          {"mi", "maori"},         {"ml", "malayalam"}, {"cy", "welsh"},      {"sk", "slovak"},
    {"te", "telugu"},         {"fa", "persian"},       {"lv", "latvian"},   {"bn", "bengali"},    {"sr", "serbian"},
    {"az", "azerbaijani"},    {"sl", "slovenian"},     {"kn", "kannada"},   {"et", "estonian"},   {"mk", "macedonian"},
    {"br", "breton"},         {"eu", "basque"},        {"is", "icelandic"}, {"hy", "armenian"},   {"ne", "nepali"},
    {"mn", "mongolian"},      {"bs", "bosnian"},       {"kk", "kazakh"},    {"sq", "albanian"},   {"sw", "swahili"},
    {"gl", "galician"},       {"mr", "marathi"},       {"pa", "punjabi"},   {"si", "sinhala"},    {"km", "khmer"},
    {"sn", "shona"},          {"yo", "yoruba"},        {"so", "somali"},    {"af", "afrikaans"},  {"oc", "occitan"},
    {"ka", "georgian"},       {"be", "belarusian"},    {"tg", "tajik"},     {"sd", "sindhi"},     {"gu", "gujarati"},
    {"am", "amharic"},        {"yi", "yiddish"},       {"lo", "lao"},       {"uz", "uzbek"},      {"fo", "faroese"},
    {"ht", "haitian creole"}, {"ps", "pashto"},        {"tk", "turkmen"},   {"nn", "nynorsk"},    {"mt", "maltese"},
    {"sa", "sanskrit"},       {"lb", "luxembourgish"}, {"my", "myanmar"},   {"bo", "tibetan"},    {"tl", "tagalog"},
    {"mg", "malagasy"},       {"as", "assamese"},      {"tt", "tatar"},     {"haw", "hawaiian"},  {"ln", "lingala"},
    {"ha", "hausa"},          {"ba", "bashkir"},       {"jw", "javanese"},  {"su", "sundanese"},  {"yue", "cantonese"},
}};

/// Signs, and words that are not spoken, in the vocabularies of OpenAI's models of English and of many languages.
constexpr std::array<Id, 88> kNotSpoken = {
    1,     2,     7,     8,     9,     10,    14,    25,    26,    27,    28,    29,    31,    58,    59,
    60,    61,    62,    63,    90,    91,    92,    93,    357,   366,   438,   532,   685,   705,   796,
    930,   1058,  1220,  1267,  1279,  1303,  1343,  1377,  1391,  1635,  1782,  1875,  2162,  2361,  2488,
    3467,  4008,  4211,  4600,  4808,  5299,  5855,  6329,  7203,  9609,  9959,  10563, 10786, 11420, 11709,
    11907, 13163, 13697, 13700, 14808, 15306, 16410, 16791, 17992, 19203, 19510, 20724, 22305, 22935, 27007,
    30109, 30420, 33409, 34949, 40283, 40493, 40549, 47282, 49146, 50257, 50359, 50360, 50361};
constexpr std::array<Id, 86> kNotSpokenInMany = {
    1,     2,     7,     8,     9,     10,    14,    25,    26,    27,    28,    29,    31,    58,    59,
    60,    61,    62,    63,    90,    91,    92,    93,    359,   503,   522,   542,   873,   893,   902,
    918,   922,   931,   1350,  1853,  1982,  2460,  2627,  3246,  3253,  3268,  3536,  3846,  3961,  4183,
    4667,  6585,  6647,  7273,  9061,  9383,  10428, 10929, 11938, 12033, 12331, 12562, 13793, 14157, 14635,
    15265, 15618, 16553, 16604, 18362, 18956, 20075, 21675, 22520, 26130, 26161, 26435, 28279, 29464, 31650,
    32302, 32470, 36865, 42863, 47425, 49870, 50254, 50258, 50360, 50361, 50362};
constexpr Id kEndOfEnglish = 50256, kEndOfMany = 50257;  // the end tokens of these vocabularies
constexpr Id kBlankOfBoth = 220;
constexpr Id kMostInitial = 50;  // one second

constexpr const char* kGenerationConfig = "generation_config.json";

Id required(const tokenizers::Tokenizer& tokenizer, const char* name) {
  if (const auto id = tokenizer.id(name)) return *id;
  throw bad_input("the tokenizer has no token '{}', so it is not that of a Whisper model", name);
}

/// Reads the rules of a generation_config.json.
class Rules {
 public:
  explicit Rules(const open::LoadedModel& loaded) {
    const auto text = open::folder_config(loaded, kGenerationConfig);
    if (!text) return;
    place_ = printable(*loaded.weights + "/" + kGenerationConfig);
    json_ = io::parse_json(*text, place_);
    if (!json_.is_object()) throw bad_input("{}: expected an object", place_);
  }
  [[nodiscard]] bool given() const { return json_.is_object(); }
  [[nodiscard]] std::vector<Id> ids(const char* key) const {
    std::vector<Id> out;
    if (!has(key)) return out;
    if (!json_[key].is_array()) throw bad_input("{}: '{}' must be a list of token ids", place_, key);
    for (const auto& value : json_[key]) out.push_back(id_of(value, key));
    return out;
  }
  [[nodiscard]] std::optional<Id> id(const char* key) const {
    return has(key) ? std::optional(id_of(json_[key], key)) : std::nullopt;
  }
  /// Returns a number of tokens, which must exceed those of the prompt.
  [[nodiscard]] std::optional<std::int64_t> length(const char* key, std::int64_t prompt) const {
    if (!has(key)) return std::nullopt;
    if (!json_[key].is_number_integer() || json_[key].get<std::int64_t>() <= prompt)
      throw bad_input("{}: '{}' must be an integer > {}, the number of tokens of the prompt", place_, key, prompt);
    return json_[key].get<std::int64_t>();
  }
  [[nodiscard]] std::vector<AlignmentHead> heads(const char* key) const {
    std::vector<AlignmentHead> out;
    if (!has(key)) return out;
    constexpr std::size_t kMost = 4096;
    if (!json_[key].is_array() || json_[key].size() > kMost)
      throw bad_input("{}: '{}' must be a list of at most {} pairs of a layer and a head", place_, key, kMost);
    for (const auto& pair : json_[key]) {
      if (!pair.is_array() || pair.size() != 2)
        throw bad_input("{}: '{}' must have pairs of a layer and a head", place_, key);
      out.push_back({id_of(pair[0], key), id_of(pair[1], key)});
    }
    return out;
  }
  [[nodiscard]] bool is_false(const char* key) const { return has(key) && json_[key] == false; }

 private:
  [[nodiscard]] bool has(const char* key) const {
    return json_.is_object() && json_.contains(key) && !json_[key].is_null();
  }
  [[nodiscard]] Id id_of(const nlohmann::json& value, const char* key) const {
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > kMost)
      throw bad_input("{}: '{}' has a value that is no integer from 0 to 2^30", place_, key);
    return static_cast<Id>(value.get<std::int64_t>());
  }

  nlohmann::json json_;
  std::string place_;
};

void take_rules(const Rules& rules, WhisperTokens& tokens) {
  if (rules.given()) {
    tokens.suppressed = rules.ids("suppress_tokens");
    tokens.suppressed_at_begin = rules.ids("begin_suppress_tokens");
    tokens.most_initial = rules.id("max_initial_timestamp_index");
    tokens.max_length = rules.length("max_length", tokens.longest_prompt());
    tokens.alignment_heads = rules.heads("alignment_heads");
    return;
  }
  tokens.most_initial = kMostInitial;
  if (tokens.end != kEndOfEnglish && tokens.end != kEndOfMany) return;  // another vocabulary
  const auto take = [&](std::span<const Id> ids) { tokens.suppressed.assign(ids.begin(), ids.end()); };
  take(tokens.end == kEndOfEnglish ? std::span<const Id>(kNotSpoken) : std::span<const Id>(kNotSpokenInMany));
  tokens.suppressed_at_begin = {kBlankOfBoth, tokens.end};
}

}  // namespace

WhisperTokens whisper_tokens(const open::LoadedModel& loaded, const tokenizers::Tokenizer& tokenizer) {
  WhisperTokens tokens;
  tokens.start = required(tokenizer, "<|startoftranscript|>");
  tokens.end = required(tokenizer, "<|endoftext|>");
  tokens.no_timestamps = required(tokenizer, "<|notimestamps|>");
  tokens.transcribe = tokenizer.id("<|transcribe|>");
  tokens.translate = tokenizer.id("<|translate|>");
  const Rules rules(loaded);
  if (!rules.is_false("is_multilingual"))
    for (const Language& language : kLanguages)
      if (const auto id = tokenizer.id(fmt::format("<|{}|>", language.code)))
        tokens.languages.emplace_back(language.code, *id);
  take_rules(rules, tokens);
  return tokens;
}

std::pair<std::string, Id> language_token(const WhisperTokens& tokens, const std::string& language) {
  if (tokens.languages.empty()) throw bad_usage("`language`: the model has no languages to choose from");
  std::string wanted = language;
  std::ranges::transform(wanted, wanted.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::vector<std::string_view> known;
  for (const auto& [code, id] : tokens.languages) {
    const auto* const row = std::ranges::find(kLanguages, code, &Language::code);
    if (wanted == code || wanted == row->name) return {code, id};
    known.push_back(code);
  }
  constexpr std::size_t kShown = 10;
  std::vector<std::string> codes(known.begin(), known.end());
  codes.resize(std::min(codes.size(), kShown));
  for (const Language& other : kLanguages) known.push_back(other.name);
  const std::string near = did_you_mean(wanted, known);
  throw bad_usage(
      "`language` '{}' is not one of the model's{}", printable(language),
      near.empty() ? fmt::format(": {}{}", join(codes, ", "), tokens.languages.size() > kShown ? ", …" : "") : near);
}

}  // namespace attn::transcribe
