#include "unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "attn/base/error.h"
#include "characters.h"

namespace attn::tokenizers {
namespace {

constexpr double kUnknownPenalty = 10.0;  // below the least score (sentencepiece's unigram_model.cc)

}  // namespace

Unigram::Unigram(Vocabulary vocabulary, std::vector<double> scores, std::optional<Id> unk, bool byte_fallback)
    : Model(std::move(vocabulary)), scores_(std::move(scores)), unknown_(unk) {
  if (unknown_ && !vocabulary_.token(*unknown_))
    throw bad_input("{}: the unknown token's id {} is none of the vocabulary", vocabulary_.place(), *unknown_);
  const auto least = std::min_element(scores_.begin(), scores_.end());
  unknown_score_ = (least == scores_.end() ? 0.0 : *least) - kUnknownPenalty;
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte)
    bytes_[byte] = byte_fallback ? vocabulary_.find(fmt::format("<0x{:02X}>", byte)).value_or(-1) : -1;
  std::vector<std::pair<std::string_view, Id>> words;
  for (Id id = 0; id < vocabulary_.end(); ++id)
    if (const auto token = vocabulary_.token(id)) words.emplace_back(*token, id);
  trie_ = Trie(std::move(words));
}

/// Viterbi's algorithm: the best way to each place, then the way back from the end. Of equal ways that which was found
/// first, from the left and so with the longest last token, stands.
void Unigram::encode(std::string_view piece, std::vector<Id>& ids, Memory*) const {
  struct Best {
    double score = 0;
    std::size_t from = std::string_view::npos;
    Id id = -1;  // -1: a letter that is no token
  };
  std::vector<Best> best(piece.size() + 1);
  const auto offer = [&](std::size_t to, double score, std::size_t from, Id id) {
    if (best[to].from == std::string_view::npos || score > best[to].score) best[to] = {score, from, id};
  };
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t letter = std::min(length_of(piece[at]), piece.size() - at);
    const double here = best[at].score;
    bool has_letter = false;
    trie_.prefixes(piece.substr(at), [&](std::size_t length, Id id) {
      offer(at + length, here + scores_[static_cast<std::size_t>(id)], at, id);
      has_letter = has_letter || length == letter;
    });
    if (!has_letter) offer(at + letter, here + unknown_score_, at, unknown_.value_or(-1));
    at += letter;
  }
  struct Found {
    std::size_t from, to;
    Id id;
  };
  std::vector<Found> way;
  for (std::size_t at = piece.size(); at > 0; at = best[at].from) {
    const Id id = best[at].id;
    const bool is_unknown = id < 0 || id == unknown_;
    // Unknown letters that stand side by side are one.
    if (is_unknown && !way.empty() && (way.back().id < 0 || way.back().id == unknown_)) {
      way.back().from = best[at].from;
    } else {
      way.push_back({best[at].from, at, id});
    }
  }
  for (auto found = way.rbegin(); found != way.rend(); ++found) {
    const std::string_view text = piece.substr(found->from, found->to - found->from);
    if (found->id >= 0 && found->id != unknown_) {
      ids.push_back(found->id);
      continue;
    }
    if (const std::optional<Id> id = vocabulary_.find(text)) {  // letters that are unknown one by one
      ids.push_back(*id);
      continue;
    }
    const auto byte_id = [&](char c) { return bytes_[static_cast<unsigned char>(c)]; };
    if (std::all_of(text.begin(), text.end(), [&](char c) { return byte_id(c) >= 0; })) {
      for (const char c : text) ids.push_back(byte_id(c));
    } else if (unknown_) {
      ids.push_back(*unknown_);
    } else {
      throw bad_input("{}: a letter of the text is no token, and there is no unknown token", vocabulary_.place());
    }
  }
}

}  // namespace attn::tokenizers
