#include "attn/text/splitting.h"

#include <algorithm>
#include <cstddef>

#include "attn/base/error.h"

namespace attn::text {
namespace {

constexpr std::string_view kPunctuation = R"(!"#$%&()*+,-./:;<=>?@[\]^_`{|}~')";
constexpr std::string_view kWhitespace = " \t\n\v\f\r";
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

/// The valid continuation of a UTF-8 sequence after its first byte.
struct Sequence {
  std::size_t size = 0;                     ///< number of bytes including the first; 0: not a valid first byte
  unsigned char least = 0x80, most = 0xbf;  ///< range of the second byte
};

Sequence sequence_of(unsigned char first) {
  if (first < 0x80) return {1};
  if (first >= 0xc2 && first <= 0xdf) return {2};
  if (first == 0xe0) return {3, 0xa0};
  if (first == 0xed) return {3, 0x80, 0x9f};
  if (first >= 0xe1 && first <= 0xef) return {3};
  if (first == 0xf0) return {4, 0x90};
  if (first >= 0xf1 && first <= 0xf3) return {4};
  if (first == 0xf4) return {4, 0x80, 0x8f};
  return {};
}

/// In invalid UTF-8, the longest prefix of a valid sequence is one character, as in ICU.
std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const Sequence sequence = sequence_of(static_cast<unsigned char>(text[at]));
    std::size_t size = 1;
    while (size < sequence.size && at + size < text.size()) {
      const auto byte = static_cast<unsigned char>(text[at + size]);
      const bool fits = size == 1 ? byte >= sequence.least && byte <= sequence.most : (byte & 0xc0U) == 0x80U;
      if (!fits) break;
      ++size;
    }
    out.emplace_back(size == sequence.size ? text.substr(at, size) : kReplacement);
    at += size;
  }
  return out;
}

}  // namespace

std::string standardized(std::string_view text, const Splitting& how) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (how.lower && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (!how.strip_punctuation || kPunctuation.find(c) == std::string_view::npos) out.push_back(c);
  }
  return out;
}

std::vector<std::string> pieces_of(std::string_view text, Split how) {
  if (how == Split::whole) return {std::string(text)};
  if (how == Split::character) return characters_of(text);
  std::vector<std::string> out;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kWhitespace), text.size()));
    if (text.empty()) return out;
    const std::size_t end = std::min(text.find_first_of(kWhitespace), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::vector<std::string> ngrams_of(const std::vector<std::string>& terms, const std::vector<std::int64_t>& widths) {
  if (widths.empty()) return terms;
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  std::size_t bytes = 0;
  std::vector<std::string> out;
  for (const std::int64_t width : widths) {
    for (std::size_t first = 0; static_cast<std::int64_t>(first) + width <= static_cast<std::int64_t>(terms.size());
         ++first) {
      std::string gram = terms[first];
      for (std::int64_t i = 1; i < width; ++i) gram.append(" ").append(terms[first + static_cast<std::size_t>(i)]);
      bytes += gram.size() + sizeof gram;
      if (bytes > kMostBytes) throw bad_input("the n-grams of a text of {} terms take more than 1 GiB", terms.size());
      out.push_back(std::move(gram));
    }
  }
  return out;
}

}  // namespace attn::text
