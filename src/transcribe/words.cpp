#include "words.h"

#include <algorithm>
#include <array>

namespace attn::transcribe {
namespace {

using tokenizers::Id;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kSigns = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
constexpr std::string_view kBefore = "\"'“¡¿([{-", kAfter = "\"'.。,，!！?？:：”)]}、";

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool contains(std::string_view all, std::string_view part) { return all.find(part) != std::string_view::npos; }

/// Groups tokens whose texts are whole characters.
std::vector<WordTokens> characters(const tokenizers::Tokenizer& tokenizer, const std::vector<Id>& tokens) {
  const auto text_of = [&](const std::vector<Id>& ids) { return tokenizers::valid_utf8(tokenizer.decode(ids)); };
  const std::string whole = text_of(tokens);
  std::vector<WordTokens> out;
  std::vector<Id> current;
  std::size_t begin = 0, first = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    current.push_back(tokens[i]);
    std::string text = text_of(current);
    const std::size_t bad = text.find(kReplacement);
    // A character that is also invalid in the whole text is not completed by later tokens.
    const bool is_open = bad != std::string::npos && begin + bad < whole.size() &&
                         whole.compare(begin + bad, kReplacement.size(), kReplacement) != 0;
    if (is_open) continue;
    begin += text.size();
    out.push_back({std::move(text), first, i});
    current.clear();
    first = i + 1;
  }
  return out;
}

/// Joins punctuation to the word after it if a space is before it, otherwise to the word before it.
void join_punctuation(std::vector<WordTokens>& words) {
  for (std::size_t i = words.size(); i-- > 1;) {
    WordTokens &sign = words[i - 1], &next = words[i];
    if (!sign.text.starts_with(' ') || !contains(kBefore, stripped(sign.text))) continue;
    sign = {sign.text + next.text, sign.first, next.last};
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (std::size_t i = 1; i < words.size();) {
    WordTokens& word = words[i - 1];
    if (word.text.ends_with(' ') || !contains(kAfter, words[i].text)) {
      ++i;
      continue;
    }
    word = {word.text + words[i].text, word.first, words[i].last};
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

bool has_spaces(const std::optional<std::string>& language) {
  static constexpr std::array<std::string_view, 6> kWithoutSpaces{"zh", "ja", "th", "lo", "my", "yue"};
  return !language || std::ranges::find(kWithoutSpaces, *language) == kWithoutSpaces.end();
}

std::vector<WordTokens> words_of(const tokenizers::Tokenizer& tokenizer, const std::vector<Id>& tokens, bool spaced) {
  std::vector<WordTokens> words;
  for (WordTokens& part : characters(tokenizer, tokens)) {
    const bool begins = !spaced || words.empty() || part.text.starts_with(' ') || contains(kSigns, stripped(part.text));
    if (begins) {
      words.push_back(std::move(part));
    } else {
      words.back().text += part.text;
      words.back().last = part.last;
    }
  }
  join_punctuation(words);
  return words;
}

}  // namespace attn::transcribe
