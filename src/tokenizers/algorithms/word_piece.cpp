#include "word_piece.h"

#include <algorithm>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::tokenizers {
namespace {

/// Returns a trie of the tokens that begin with `prefix`, without the prefix.
Trie trie_of(const Vocabulary& vocabulary, std::string_view prefix) {
  std::vector<std::pair<std::string_view, Id>> words;
  for (Id id = 0; id < vocabulary.end(); ++id) {
    const std::optional<std::string_view> token = vocabulary.token(id);
    if (token && token->starts_with(prefix)) words.emplace_back(token->substr(prefix.size()), id);
  }
  return Trie(std::move(words));
}

}  // namespace

WordPiece::WordPiece(Vocabulary vocabulary, const Options& options)
    : Model(std::move(vocabulary)), options_(options), unknown_(-1) {
  const std::optional<Id> unknown = vocabulary_.find(options_.unk_token);
  if (!unknown)
    throw bad_input("{}: the unknown token '{}' is not in the vocabulary", vocabulary_.place(),
                    shortened(options_.unk_token));
  unknown_ = *unknown;
  starts_ = trie_of(vocabulary_, "");
  continuations_ = trie_of(vocabulary_, options_.prefix);
}

void WordPiece::encode(std::string_view word, std::vector<Id>& ids, Memory*) const {
  const auto is_first_byte = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  const std::ptrdiff_t length = options_.measure == Measure::bytes
                                    ? static_cast<std::ptrdiff_t>(word.size())
                                    : std::count_if(word.begin(), word.end(), is_first_byte);
  const std::size_t before = ids.size();
  if (length > options_.longest_word) {
    ids.push_back(unknown_);
    return;
  }
  for (std::size_t at = 0; at < word.size();) {
    const auto [size, id] = (at == 0 ? starts_ : continuations_).longest(word.substr(at));
    if (size == 0) {
      ids.resize(before);
      ids.push_back(unknown_);
      return;
    }
    ids.push_back(id);
    at += size;
  }
}

}  // namespace attn::tokenizers
