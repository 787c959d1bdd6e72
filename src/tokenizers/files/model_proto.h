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

  Vocabulary pieces;          ///< the pieces in the order of their ids, from 0 on
  std::vector<Kind> kinds;    ///< kind of each piece, by id
  std::vector<float> scores;  ///< score of each piece, by id
  std::string start, end;     ///< the pieces of the start and end tokens
  bool is_unigram = true;  ///< Unigram: the most probable segmentation; otherwise pairs are merged, or words looked up
  bool merges_pairs = false;
  bool has_char_map = false;   ///< whether characters are replaced before segmentation
  bool changes_ascii = false;  ///< whether the replacement changes ASCII letters
};

/// Parses a model file. Throws Error (bad_input), whose message begins with `place`, for anything that could crash or
/// abort the SentencePiece library: a truncated message, no pieces or duplicate ones, empty pieces or invalid UTF-8,
/// scores that are not finite, no unknown piece or several, a character table with offsets outside itself.
[[nodiscard]] ModelProto read_model_proto(std::string_view file, const std::string& place);

}  // namespace attn::tokenizers
