// Where words fall apart for models that merge pairs of pieces.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <string_view>

#include "model_proto.h"

namespace attn::tokenizers {

/// A seam lies between two letters of ASCII that no piece of a model has side by side: what is before it and what is
/// behind it never merge.
class Seams {
 public:
  /// No seams.
  Seams() = default;
  /// There are none where `proto` merges no pairs, or has a table of characters, which could join letters first.
  explicit Seams(const ModelProto& proto);

  [[nodiscard]] bool between(char left, char right) const noexcept {
    const auto from = static_cast<unsigned char>(left), to = static_cast<unsigned char>(right);
    return from < kLetters && to < kLetters && apart_[from].test(to);
  }
  /// The first one of `word` behind the byte `begin`; the word's end where there is none.
  [[nodiscard]] std::size_t behind(std::string_view word, std::size_t begin) const noexcept {
    for (std::size_t at = begin + 1; at < word.size(); ++at)
      if (between(word[at - 1], word[at])) return at;
    return word.size();
  }

  /// The piece that a letter with seams around it is.
  [[nodiscard]] Id piece_of(char letter) const noexcept { return pieces_[static_cast<unsigned char>(letter)]; }

 private:
  static constexpr std::size_t kLetters = 128;
  std::array<std::bitset<kLetters>, kLetters> apart_;
  std::array<Id, kLetters> pieces_{};
};

}  // namespace attn::tokenizers
