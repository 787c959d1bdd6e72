#include "seams.h"

#include <optional>
#include <string>

namespace attn::tokenizers {

/// Letters that are not pieces have no seams, because adjacent unknown letters form one piece.
Seams::Seams(const ModelProto& proto) {
  using Kind = ModelProto::Kind;
  if (!proto.merges_pairs || proto.has_char_map) return;
  std::bitset<kLetters> known;
  for (char letter = '!'; letter <= '~'; ++letter) {
    const std::optional<Id> id = proto.pieces.find(std::string(1, letter));
    if (!id || proto.kinds[static_cast<std::size_t>(*id)] != Kind::normal) continue;
    known.set(static_cast<unsigned char>(letter));
    pieces_[static_cast<unsigned char>(letter)] = *id;
  }
  for (std::size_t letter = 0; letter < kLetters; ++letter)
    if (known.test(letter)) apart_[letter] = known;
  for (Id id = 0; id < proto.pieces.end(); ++id) {
    const std::string_view piece = proto.pieces.token(id).value_or("");
    for (std::size_t at = 1; at < piece.size(); ++at)
      if (between(piece[at - 1], piece[at]))
        apart_[static_cast<unsigned char>(piece[at - 1])].reset(static_cast<unsigned char>(piece[at]));
  }
}

}  // namespace attn::tokenizers
