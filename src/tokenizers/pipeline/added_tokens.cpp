#include "added_tokens.h"

#include <algorithm>
#include <utility>

#include "text/characters.h"

namespace attn::tokenizers {
namespace {

bool ends_with_word(std::string_view text) {
  if (text.empty()) return false;
  std::size_t at = point_before(text, text.size());
  return is_word(next_point(text, at));
}
bool begins_with_word(std::string_view text) {
  std::size_t at = 0;
  return !text.empty() && is_word(next_point(text, at));
}
/// Returns the beginning of the white space before `end`, looking back to `begin`.
std::size_t space_before(std::string_view text, std::size_t begin, std::size_t end) {
  while (end > begin) {
    const std::size_t last = point_before(text, end);
    std::size_t at = last;
    if (!is_white_space(next_point(text, at))) break;
    end = last;
  }
  return end;
}
/// Returns the number of bytes of leading white space in `text`.
std::size_t space_at_begin(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size()) {
    std::size_t at = end;
    if (!is_white_space(next_point(text, at))) break;
    end = at;
  }
  return end;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)), begins_(256, false) {
  std::vector<std::pair<std::string_view, Id>> words;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].content.empty()) continue;
    words.emplace_back(tokens_[i].content, static_cast<Id>(i));
    begins_[static_cast<unsigned char>(tokens_[i].content[0])] = true;
  }
  trie_ = Trie(std::move(words));
}

std::vector<Section> AddedTokens::sections(std::string_view text, bool with_special) const {
  std::vector<Section> sections;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size() && !tokens_.empty();) {
    if (!begins_[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    const auto [length, index] = trie_.longest(text.substr(at));
    if (length == 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(index)];
    std::size_t from = at, to = at + length;
    at = to;
    if (token.special && !with_special) continue;
    if (token.single_word && (ends_with_word(text.substr(0, from)) || begins_with_word(text.substr(to)))) continue;
    if (token.lstrip) from = space_before(text, done, from);  // the previous token may have consumed the space
    if (token.rstrip) to += space_at_begin(text.substr(to));
    if (done < from) sections.push_back({done, from, std::nullopt});
    sections.push_back({from, to, token.id});
    done = to;
    at = std::max(at, to);
  }
  if (done < text.size()) sections.push_back({done, text.size(), std::nullopt});
  return sections;
}

}  // namespace attn::tokenizers
