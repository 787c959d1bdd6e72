#include "algorithms/longest_match.h"

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::tokenizers {
namespace {

Trie trie_of(const Vocabulary& vocabulary) {
  std::vector<std::pair<std::string_view, Id>> words;
  for (Id id = 0; id < vocabulary.end(); ++id)
    if (const auto token = vocabulary.token(id)) words.emplace_back(*token, id);
  return Trie(std::move(words));
}

}  // namespace

LongestMatch::LongestMatch(Vocabulary vocabulary) : Model(std::move(vocabulary)), trie_(trie_of(vocabulary_)) {}

void LongestMatch::encode(std::string_view piece, std::vector<Id>& ids, Memory* /*memory*/) const {
  while (!piece.empty()) {
    const auto [length, id] = trie_.longest(piece);
    if (length == 0)
      throw bad_input("{}: no token begins with the byte {} of the text, so it cannot be encoded", vocabulary_.place(),
                      static_cast<int>(static_cast<unsigned char>(piece.front())));
    ids.push_back(id);
    piece.remove_prefix(length);
  }
}

}  // namespace attn::tokenizers
