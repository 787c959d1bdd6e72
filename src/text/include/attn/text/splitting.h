// A text as the terms that a vocabulary is asked for, as TextVectorization cuts it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn::text {

enum class Split : std::uint8_t { whole, whitespace, character };

struct Splitting {
  bool lower = false;              ///< ASCII letters alone, as tf.strings.lower does
  bool strip_punctuation = false;  ///< ASCII punctuation
  Split split = Split::whitespace;
  std::vector<std::int64_t> ngrams{};  ///< widths of n-grams, in this order; empty: the terms themselves
};

/// The text without what is stripped, in small letters.
[[nodiscard]] std::string standardized(std::string_view text, const Splitting& how);
/// What stands between ASCII whitespace; or each code point, U+FFFD for what is no UTF-8; or the text as it is.
[[nodiscard]] std::vector<std::string> pieces_of(std::string_view text, Split how);
/// All runs of as many terms as each width says, with a blank between, one width after another. Throws Error
/// (bad_input) where they take more than 1 GiB.
[[nodiscard]] std::vector<std::string> ngrams_of(const std::vector<std::string>& terms,
                                                 const std::vector<std::int64_t>& widths);

}  // namespace attn::text
