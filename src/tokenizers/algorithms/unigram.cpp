#include "unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "attn/base/error.h"
#include "viterbi_segmentation.h"

namespace attn::tokenizers {
namespace {

constexpr double kUnknownPenalty = 10.0;  // below the lowest score (sentencepiece's unigram_model.cc)

}  // namespace

Unigram::Unigram(Vocabulary vocabulary, std::vector<double> scores, std::optional<Id> unk, bool byte_fallback)
    : Model(std::move(vocabulary)), scores_(std::move(scores)), unknown_(unk) {
  if (unknown_ && !vocabulary_.token(*unknown_))
    throw bad_input("{}: the unknown token's id {} is not in the vocabulary", vocabulary_.place(), *unknown_);
  const auto least = std::min_element(scores_.begin(), scores_.end());
  unknown_score_ = (least == scores_.end() ? 0.0 : *least) - kUnknownPenalty;
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte)
    bytes_[byte] = byte_fallback ? vocabulary_.find(fmt::format("<0x{:02X}>", byte)).value_or(-1) : -1;
  std::vector<std::pair<std::string_view, Id>> words;
  for (Id id = 0; id < vocabulary_.end(); ++id)
    if (const auto token = vocabulary_.token(id)) words.emplace_back(*token, id);
  trie_ = Trie(std::move(words));
}

void Unigram::encode(std::string_view piece, std::vector<Id>& ids, Memory*) const {
  const auto score_of = [&](std::size_t, Id id) { return scores_[static_cast<std::size_t>(id)]; };
  std::vector<Segment> way;
  const auto is_unknown = [&](const Segment& part) { return part.id < 0 || part.id == unknown_; };
  viterbi_segmentation(piece, trie_, score_of, unknown_score_, [&](const Segment& part) {
    // Adjacent unknown letters become one part.
    if (is_unknown(part) && !way.empty() && is_unknown(way.back())) {
      way.back().to = part.to;
    } else {
      way.push_back(part);
    }
  });
  for (const Segment& found : way) {
    const std::string_view text = piece.substr(found.from, found.to - found.from);
    if (found.id >= 0 && found.id != unknown_) {
      ids.push_back(found.id);
      continue;
    }
    if (const std::optional<Id> id = vocabulary_.find(text)) {  // adjacent unknown letters that form a token together
      ids.push_back(*id);
      continue;
    }
    const auto byte_id = [&](char c) { return bytes_[static_cast<unsigned char>(c)]; };
    if (std::all_of(text.begin(), text.end(), [&](char c) { return byte_id(c) >= 0; })) {
      for (const char c : text) ids.push_back(byte_id(c));
    } else if (unknown_) {
      ids.push_back(*unknown_);
    } else {
      throw bad_input("{}: a letter of the text is not a token, and there is no unknown token", vocabulary_.place());
    }
  }
}

}  // namespace attn::tokenizers
