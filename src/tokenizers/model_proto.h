// SentencePiece's model file: a ModelProto in protocol buffers' wire format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vocabulary.h"

namespace attn::tokenizers {

struct ModelProto {
  enum class Kind : std::uint8_t { normal = 1, unknown, control, user_defined, unused, byte };

  Vocabulary pieces;          ///< in the order of their ids, from 0 on
  std::vector<Kind> kinds;    ///< by id
  std::vector<float> scores;  ///< by id
  std::string start, end;     ///< the pieces that stand for them
  bool is_unigram =
      true;  ///< of all ways to cut a text the likeliest counts; else pairs are merged, or words looked up
  bool merges_pairs = false;
  bool has_char_map = false;   ///< of what becomes of characters before a text is cut
  bool changes_ascii = false;  ///< does that replace letters of ASCII alone?
};

/// The pieces of a model file. Throws Error (bad_input) that begins with `place` for what the library could be harmed
/// by or would end the program over: a message that is cut short, no piece or two of one text, pieces without text or
/// that are no UTF-8, scores that are no numbers, no unknown piece or several, a table of characters that leads out of
/// itself.
[[nodiscard]] ModelProto read_model_proto(std::string_view file, const std::string& place);

}  // namespace attn::tokenizers
