#include "media_marks.h"

#include <algorithm>
#include <optional>

#include "attn/base/error.h"
#include "attn/keras/families.h"
#include "media_words.h"

namespace attn::generate {
namespace {

/// Returns the number of placeholders of the item with this number. A missing one of any size has one.
Dim tokens_of(const Media& media, std::size_t number) {
  return number < media.items.size() ? media.items[number].tokens : std::max<Dim>(media.how.tokens, 1);
}

/// A special token, and where it occurs next in a text.
struct Special {
  std::string_view word;
  Token id = 0;
  std::size_t at = 0;
};

/// Returns the special tokens of the tokenizer's class, and `mark`. KerasHub's preprocessor cuts prompts with images at
/// them, because its tokenizer encodes some as letters.
std::vector<Special> specials_of(const tokenizers::Tokenizer& tokenizer, std::string_view mark, std::string_view text) {
  std::vector<std::string_view> words{mark};
  for (const tokenizers::KerasClass& row : keras::tokenizer_tables().classes) {
    if (row.name != tokenizer.class_name()) continue;
    words.push_back(row.end);
    words.insert(words.end(), row.more.begin(), row.more.end());
    words.insert(words.end(), row.vision.begin(), row.vision.end());
  }
  std::vector<Special> out;
  for (const std::string_view word : words)
    if (const auto id = tokenizer.id(word); id && !word.empty()) out.push_back({word, *id, text.find(word)});
  return out;
}

/// Returns the place of the image that each prompt begins with.
std::vector<MediaPlace> first_places(const Media& media, std::size_t prompts) {
  if (media.items.size() != prompts && media.items.size() != 1)
    throw bad_usage("{} {} were given for {} prompts: give one for each, or one for all", media.items.size(),
                    words_of(media.how.modality).many, prompts);
  std::vector<MediaPlace> out(prompts);
  for (std::size_t i = 0; i < prompts; ++i) out[i].prompt = static_cast<Dim>(i);
  return out;
}

}  // namespace

std::string with_placeholders(std::string_view text, Media& media) {
  const keras::MediaPrompt& how = media.how;
  std::string out;
  while (true) {
    const std::size_t at = text.find(how.mark);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += how.start;
    for (Dim i = tokens_of(media, media.encoded++); i > 0; --i) out += how.placeholder;
    out += how.end;
    text.remove_prefix(at + how.mark.size());
  }
}

std::vector<Token> encoded_in_parts(std::string_view text, Media& media, const tokenizers::Tokenizer& tokenizer,
                                    const tokenizers::EncodeOptions& options) {
  const std::string_view mark = media.how.mark;
  const bool has_items = !media.items.empty() || text.find(mark) != std::string_view::npos;
  if (!has_items || !options.specials_in_text) return tokenizer.encode(text, options);
  std::vector<Special> specials = specials_of(tokenizer, mark, text);
  std::vector<Token> out;
  for (std::size_t from = 0; from < text.size();) {
    const auto next = std::ranges::min_element(specials, {}, &Special::at);
    const std::size_t end = next == specials.end() ? std::string_view::npos : next->at;
    if (end > from) {
      const std::vector<Token> part = tokenizer.encode(text.substr(from, end - from), options);
      out.insert(out.end(), part.begin(), part.end());
    }
    if (end == std::string_view::npos) break;
    const Dim count = next->word == mark ? tokens_of(media, media.encoded++) : 1;
    out.insert(out.end(), static_cast<std::size_t>(count), next->id);
    from = end + next->word.size();
    for (Special& special : specials)
      if (special.at < from) special.at = text.find(special.word, from);
  }
  return out;
}

std::vector<MediaPlace> places_of(const Media& media, const std::vector<std::vector<Token>>& prompts,
                                  const tokenizers::Tokenizer* tokenizer) {
  const keras::MediaPrompt& how = media.how;
  const MediaWords words = words_of(how.modality);
  if (how.begins_prompt()) return first_places(media, prompts.size());
  std::optional<Token> placeholder;
  if (tokenizer != nullptr) placeholder = tokenizer->id(how.placeholder);
  if (tokenizer == nullptr && !media.items.empty())
    throw bad_usage("`{}` needs prompts of text, in which {} stands for {}; token ids have no such marks", words.field,
                    how.mark, words.one);
  if (!placeholder && !media.items.empty())
    throw bad_input(
        "`{}` needs a tokenizer with the token {}, and the model's has none: give the tokenizer's own files",
        words.field, how.placeholder);
  std::vector<MediaPlace> out;
  if (!placeholder) return out;
  std::size_t marks = 0;  // includes those of missing items
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const std::vector<Token>& prompt = prompts[p];
    for (auto at = prompt.begin(); (at = std::find(at, prompt.end(), *placeholder)) != prompt.end();) {
      const Dim tokens = tokens_of(media, marks), left = prompt.end() - at;
      const auto end = std::find_if(at, at + std::min(tokens, left), [&](Token id) { return id != *placeholder; });
      if (marks < media.items.size()) {
        if (end - at < tokens)
          throw bad_usage("prompt {} has {} of the {} tokens of {}: give a larger `max_length`", p + 1, end - at,
                          tokens, words.one);
        out.push_back({static_cast<Dim>(p), at - prompt.begin()});
      }
      ++marks;
      at = end;
    }
  }
  if (marks != media.items.size())
    throw bad_usage("{} {} were given, and the prompts have {} marks {}, one of which stands for {}",
                    media.items.size(), words.many, marks, how.mark, words.one);
  return out;
}

}  // namespace attn::generate
