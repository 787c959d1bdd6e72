#include "model_proto.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "pipeline/char_map.h"

namespace attn::tokenizers {
namespace {

/// A field of a protocol buffer message.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;    // raw bits of a number
  std::string_view contents;  // contents of a string or a message
  bool has_contents = false;
};

/// The fields of a message, in order.
class Message {
 public:
  Message(std::string_view bytes, const std::string& place) : rest_(bytes), place_(place) {}

  [[nodiscard]] std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t key = varint();
    Field field;
    field.number = key >> 3;
    switch (key & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = fixed(8);
        break;
      case 2:
        field.contents = take(varint());
        field.has_contents = true;
        break;
      case 5:
        field.value = fixed(4);
        break;
      default:
        throw wrong();
    }
    if (field.number == 0) throw wrong();
    return field;
  }

 private:
  [[nodiscard]] Error wrong() const {
    return bad_input("{}: not a SentencePiece model, or one that is damaged or cut short", place_);
  }
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) throw wrong();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::uint64_t fixed(std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, take(size).data(), size);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw wrong();
  }

  std::string_view rest_;
  const std::string& place_;
};

// Field numbers in sentencepiece_model.proto.
constexpr std::uint64_t kPieces = 1, kTrainer = 2, kNormalizer = 3, kDenormalizer = 5;
constexpr std::uint64_t kModelType = 3, kUnigram = 1, kBytePairs = 2, kStartPiece = 46, kEndPiece = 47;
constexpr std::uint64_t kPieceText = 1, kPieceScore = 2, kPieceKind = 3;
constexpr std::uint64_t kCharMap = 2;

void add_piece(std::string_view message, ModelProto& proto) {
  const std::string& place = proto.pieces.place();
  std::string_view text;
  float score = 0;
  auto kind = ModelProto::Kind::normal;
  Message fields(message, place);
  while (const std::optional<Field> field = fields.next()) {
    if (field->number == kPieceText) text = field->contents;
    if (field->number == kPieceScore) score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
    if (field->number == kPieceKind) {
      if (field->value < 1 || field->value > 6)
        throw bad_input("{}: piece {} has an unknown kind", place, proto.kinds.size());
      kind = static_cast<ModelProto::Kind>(field->value);
    }
  }
  constexpr float kFarthest = 1e9F;
  if (text.empty() || text.size() > kLongestToken || !is_utf8(text) || text.find('\0') != std::string_view::npos)
    throw bad_input("{}: piece {} is not a text of 1 to {} bytes", place, proto.kinds.size(), kLongestToken);
  if (!(std::abs(score) <= kFarthest))
    throw bad_input("{}: the score of piece {} is not a finite number", place, proto.kinds.size());
  if (const auto other = proto.pieces.find(text))
    throw bad_input("{}: the pieces {} and {} are both '{}'", place, *other, proto.kinds.size(), shortened(text));
  proto.pieces.add(text, static_cast<std::int64_t>(proto.kinds.size()));
  proto.kinds.push_back(kind);
  proto.scores.push_back(score);
}

void read_normalizer(std::string_view message, bool is_first, ModelProto& proto) {
  const std::string& place = proto.pieces.place();
  Message fields(message, place);
  while (const std::optional<Field> field = fields.next()) {
    if (field->number != kCharMap || field->contents.empty()) continue;
    const CharMap map(field->contents, place);
    if (!is_first) continue;
    proto.has_char_map = true;
    proto.changes_ascii = proto.changes_ascii || map.changes_ascii();
  }
}

void read_trainer(std::string_view message, ModelProto& proto) {
  Message fields(message, proto.pieces.place());
  while (const std::optional<Field> field = fields.next()) {
    if (field->number == kModelType) {
      proto.is_unigram = field->value == kUnigram;
      proto.merges_pairs = field->value == kBytePairs;
    }
    if (field->number == kStartPiece && field->has_contents) proto.start = field->contents;
    if (field->number == kEndPiece && field->has_contents) proto.end = field->contents;
  }
}

}  // namespace

ModelProto read_model_proto(std::string_view file, const std::string& place) {
  ModelProto proto{Vocabulary(place), {}, {}, "<s>", "</s>"};
  Message fields(file, place);
  while (const std::optional<Field> field = fields.next()) {
    if (field->number > kDenormalizer && field->number < 200)
      throw bad_input("{}: not a SentencePiece model: it has a field {}", place, field->number);
    if (!field->has_contents) continue;
    if (field->number == kPieces) add_piece(field->contents, proto);
    if (field->number == kTrainer) read_trainer(field->contents, proto);
    if (field->number == kNormalizer || field->number == kDenormalizer)
      read_normalizer(field->contents, field->number == kNormalizer, proto);
  }
  const auto unknown = std::count(proto.kinds.begin(), proto.kinds.end(), ModelProto::Kind::unknown);
  if (proto.kinds.empty()) throw bad_input("{}: not a SentencePiece model: it has no pieces", place);
  if (unknown != 1) throw bad_input("{}: it has {} unknown pieces; expected one", place, unknown);
  return proto;
}

}  // namespace attn::tokenizers
