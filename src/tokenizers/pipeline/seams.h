// Positions where words can be split for models that merge pairs of pieces.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <string_view>

#include "files/model_proto.h"

namespace attn::tokenizers {

/// A seam is a position between two ASCII letters that no piece of the model has next to each other, so merges never
/// cross it.
class Seams {
 public:
  /// Creates an object without seams.
  Seams() = default;
  /// Finds the seams of a model. There are none if the algorithm of `proto` is not merging, or if it has a character
  /// table, which could join letters first.
  explicit Seams(const ModelProto& proto);

  [[nodiscard]] bool between(char left, char right) const noexcept {
    const auto from = static_cast<unsigned char>(left), to = static_cast<unsigned char>(right);
    return from < kLetters && to < kLetters && apart_[from].test(to);
  }
  /// Returns the first seam of `word` after the byte `begin`; the end of the word if there is none.
  [[nodiscard]] std::size_t behind(std::string_view word, std::size_t begin) const noexcept {
    for (std::size_t at = begin + 1; at < word.size(); ++at)
      if (between(word[at - 1], word[at])) return at;
    return word.size();
  }

  /// Returns the piece of a letter between two seams.
  [[nodiscard]] Id piece_of(char letter) const noexcept { return pieces_[static_cast<unsigned char>(letter)]; }

 private:
  static constexpr std::size_t kLetters = 128;
  std::array<std::bitset<kLetters>, kLetters> apart_;
  std::array<Id, kLetters> pieces_{};
};

}  // namespace attn::tokenizers
