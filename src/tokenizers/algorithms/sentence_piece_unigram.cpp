#include "sentence_piece_unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "viterbi_segmentation.h"

namespace attn::tokenizers {
namespace {

constexpr float kUnknownPiecePenalty = 10.0F;  // the score of an unknown piece is this much below the lowest score
constexpr double kUserDefinedPenalty = 0.1;    // subtracted from bytes · highest score: such a piece always wins

}  // namespace

SentencePieceUnigram::SentencePieceUnigram(const ModelProto& proto) : scores_(proto.scores) {
  using Kind = ModelProto::Kind;
  float least = std::numeric_limits<float>::max();
  highest_ = std::numeric_limits<float>::lowest();
  std::vector<std::pair<std::string_view, Id>> words;
  for (Id id = 0; id < proto.pieces.end(); ++id) {
    const auto at = static_cast<std::size_t>(id);
    const Kind kind = proto.kinds[at];
    user_defined_.push_back(kind == Kind::user_defined);
    if (kind == Kind::unknown) unknown_ = id;
    if (kind == Kind::normal || kind == Kind::user_defined) words.emplace_back(*proto.pieces.token(id), id);
    if (kind != Kind::normal) continue;
    least = std::min(least, scores_[at]);
    highest_ = std::max(highest_, scores_[at]);
  }
  unknown_score_ = least - kUnknownPiecePenalty;
  trie_ = Trie(std::move(words));
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
    const auto id = proto.pieces.find(fmt::format("<0x{:02X}>", byte));
    bytes_[byte] = id && proto.kinds[static_cast<std::size_t>(*id)] == Kind::byte ? *id : -1;
  }
}

float SentencePieceUnigram::score_of(std::size_t length, Id id) const {
  const auto at = static_cast<std::size_t>(id);
  if (!user_defined_[at]) return scores_[at];
  return static_cast<float>(static_cast<float>(length) * highest_ - kUserDefinedPenalty);
}

void SentencePieceUnigram::encode(std::string_view normalized, std::vector<Id>& ids) const {
  const auto score = [&](std::size_t length, Id id) { return score_of(length, id); };
  bool was_unknown = false;
  viterbi_segmentation(normalized, trie_, score, unknown_score_, [&](const Segment& part) {
    const std::string_view text = normalized.substr(part.from, part.to - part.from);
    const auto byte_id = [&](char c) { return bytes_[static_cast<unsigned char>(c)]; };
    if (part.id >= 0) {
      ids.push_back(part.id);
    } else if (std::all_of(text.begin(), text.end(), [&](char c) { return byte_id(c) >= 0; })) {
      for (const char c : text) ids.push_back(byte_id(c));
    } else if (!was_unknown) {
      ids.push_back(unknown_);
    }
    was_unknown = part.id < 0;
  });
}

}  // namespace attn::tokenizers
