// Viterbi's algorithm over the tokens that a text may be cut into.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "characters.h"
#include "trie.h"

namespace attn::tokenizers {

/// A part of a text; id -1: a letter that is no token.
struct CutPart {
  std::size_t from, to;
  Id id;
};

/// The parts of the likeliest way to cut `text`, the last first: the best way to each place, then the way back from the
/// end. `score_of(length, id)` is a token's log-probability, `unknown_score` that of a letter that is none. Sums are of
/// `Number`: where two ways are equal its rounding decides; of equal sums that which was found first, from the left and
/// so with the longest last token, stands.
template <typename Number, typename ScoreOf>
std::vector<CutPart> likeliest_cut(std::string_view text, const Trie& trie, ScoreOf&& score_of, Number unknown_score) {
  struct Best {
    Number score = 0;
    std::size_t from = std::string_view::npos;
    Id id = -1;
  };
  std::vector<Best> best(text.size() + 1);
  const auto offer = [&](std::size_t to, Number score, std::size_t from, Id id) {
    if (best[to].from == std::string_view::npos || score > best[to].score) best[to] = {score, from, id};
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t letter = std::min(length_of(text[at]), text.size() - at);
    const Number here = best[at].score;
    bool has_letter = false;
    trie.prefixes(text.substr(at), [&](std::size_t length, Id id) {
      offer(at + length, here + score_of(length, id), at, id);
      has_letter = has_letter || length == letter;
    });
    if (!has_letter) offer(at + letter, here + unknown_score, at, -1);
    at += letter;
  }
  std::vector<CutPart> parts;
  for (std::size_t at = text.size(); at > 0; at = best[at].from) parts.push_back({best[at].from, at, best[at].id});
  return parts;
}

}  // namespace attn::tokenizers
