// The Viterbi algorithm over the segmentations of a text into tokens.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "text/characters.h"
#include "trie.h"

namespace attn::tokenizers {

/// A part of a text; id -1: a letter that is not a token.
struct Segment {
  std::size_t from, to;
  Id id;
};

/// Calls take(part) for the parts of the most probable segmentation of `text`, from left to right. `score_of(length,
/// id)` is the log-probability of a token, `unknown_score` that of an unknown letter. Sums are computed in `Number`,
/// whose rounding decides between almost equal segmentations. The first one found of equal sums wins: the search goes
/// from left to right, so its last token is the longest.
template <typename Number, typename ScoreOf, typename Take>
void viterbi_segmentation(std::string_view text, const Trie& trie, ScoreOf&& score_of, Number unknown_score,
                          Take&& take) {
  struct Best {
    Number score = 0;
    std::size_t from = std::string_view::npos;
    Id id = -1;
  };
  std::size_t base = 0;       // parts before this position are final
  std::vector<Best> best(1);  // the best segmentation up to each position from `base` on, as far as a token reaches
  std::vector<Segment> parts;
  const auto offer = [&](std::size_t to, Number score, std::size_t from, Id id) {
    if (to - base >= best.size()) best.resize(to - base + 1);
    Best& there = best[to - base];
    if (there.from == std::string_view::npos || score > there.score) there = {score, from, id};
  };
  // Follows the best segmentation back from a position, then emits its parts in order.
  const auto settle = [&](std::size_t end) {
    parts.clear();
    for (std::size_t at = end; at > base; at = best[at - base].from)
      parts.push_back({best[at - base].from, at, best[at - base].id});
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) take(*part);
    best.assign(1, Best{best[end - base].score});
    base = end;
  };
  for (std::size_t at = 0; at < text.size();) {
    if (at - base + 1 == best.size()) settle(at);  // no token crosses this position
    const std::size_t letter = std::min(length_of(text[at]), text.size() - at);
    const Number here = best[at - base].score;
    bool has_letter = false;
    trie.prefixes(text.substr(at), [&](std::size_t length, Id id) {
      offer(at + length, here + score_of(length, id), at, id);
      has_letter = has_letter || length == letter;
    });
    if (!has_letter) offer(at + letter, here + unknown_score, at, -1);
    at += letter;
  }
  settle(text.size());
}

}  // namespace attn::tokenizers
